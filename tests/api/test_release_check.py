"""A released file is checked against its manifest, and the manifest against its signature."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.api.release_check import verify_release
from shoal.cli.application import app
from shoal.errors import FileProblem, MissingExtra, ParameterError
from shoal.flow.manifest import stated_plan_digest
from shoal.tables.signatures import sign_file, signature_holds

ROLES = {"quasi": ["age", "income", "sex"], "confidential": ["diagnosis"], "identifiers": ["name"]}
PEOPLE = shoal.datasets.patients(80).select("name", "age", "income", "sex", "diagnosis", "region")


@pytest.fixture
def files(tmp_path):
    """Return the table, the manifest and the record of a release."""
    return written(tmp_path)


def written(folder, name="safe.csv", **changes):
    release = shoal.protect(PEOPLE, 4, **{"l": 2, "strata": ["region"], "method": "mdav", **ROLES, **changes})
    return release.write(folder / name)


def holds(files, **arguments):
    return {check.name: check.holds for check in verify_release(files[0], files[1], **arguments).checks}


def edited(manifest, change):
    content = json.loads(manifest.read_text())
    change(content)
    manifest.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["safe.csv", "safe.csv.gz", "safe.parquet", "safe.arrow"])
@pytest.mark.parametrize("changes", [{}, {"t": 0.6}, {"l": None}, {"alpha": 0.9}])
def test_a_release_agrees_with_its_manifest(tmp_path, name, changes):
    assert holds(written(tmp_path, name, **changes)) == {"file": True, "plan": True, "recount": True}


def test_another_file_with_the_same_counts_is_noticed(files):
    files[0].write_bytes(files[0].read_bytes() + b"\n")
    assert holds(files)["file"] is False


def test_a_table_with_a_smaller_class_is_noticed_even_if_the_digest_was_replaced(files):
    lines = files[0].read_text().splitlines(keepends=True)
    files[0].write_text("".join(lines[:-1]))
    shorter = shoal.api.release_check.file_digest(files[0])

    def change(content):
        content["output"] |= {"bytes": shorter[0], "sha256": shorter[1]}

    edited(files[1], change)
    found = holds(files)
    assert found["file"] is True
    assert found["recount"] is (pl.read_csv(files[0]).group_by([*ROLES["quasi"], "region"]).len()["len"].min() >= 4)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["requirements"].update(k=2),
        lambda content: content["schema"]["columns"].pop(1),
        lambda content: content["method"]["requested"].update(seed=7),
        lambda content: content["recount"].update(sql="SELECT 99 AS k"),
    ],
)
def test_an_edited_plan_is_noticed(files, change):
    edited(files[1], change)
    assert holds(files)["plan"] is False


def test_fewer_quasi_identifiers_do_not_hide_behind_a_new_digest(files):
    """Only a signature protects from a manifest that was rewritten as a whole; the statement must still fit."""

    def change(content):
        content["schema"]["columns"] = [c for c in content["schema"]["columns"] if c["name"] != "income"]
        content["plan"] = stated_plan_digest(content)

    edited(files[1], change)
    assert holds(files)["plan"] is False


def test_t_with_a_secret_order_is_said_to_be_uncounted(tmp_path):
    people = PEOPLE.with_columns(stage=pl.Series(["I", "II", "III", "IV"] * 20)).drop("diagnosis", "region")
    release = shoal.protect(
        people, 4, quasi=["age", "income", "sex"], confidential=["stage"], identifiers=["name"], t=0.5,
        orders={"stage": ["I", "II", "III", "IV"]}, method="mdav",
    )  # fmt: skip
    table, manifest, _ = release.write(tmp_path / "safe.csv")
    check = verify_release(table, manifest)
    assert check.satisfied
    assert "t was not counted" in check.checks[2].text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("no json", "is not a manifest"),
        ("[]", "is not a manifest"),
        ('{"mechanism": {}}', "differentially private"),
        (None, "was not found"),
        ("without", "states no digest"),
        ("version", "another version"),
    ],
)
def test_other_manifests_are_refused_in_one_sentence(files, tmp_path, content, text):
    manifest = tmp_path / "other.json"
    if content == "without":
        shutil.copy(files[1], manifest)
        edited(manifest, lambda stated: stated["output"].pop("sha256"))
    elif content == "version":
        shutil.copy(files[1], manifest)
        edited(manifest, lambda stated: stated.update(manifest_version=2))
    elif content is not None:
        manifest.write_text(content)
    with pytest.raises(FileProblem, match=text):
        verify_release(files[0], manifest)


needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def keys(tmp_path):
    """Two pairs of SSH keys, for these tests only."""
    for name in ("holder", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", tmp_path / name]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return tmp_path / "holder", tmp_path / "other"


@needs_ssh
class TestSignatures:
    def signed(self, files, keys):
        path = files[1].with_name("safe.sig")
        path.write_bytes(sign_file(files[1], keys[0]))
        return path

    def test_the_signer_is_recognised_by_the_key(self, files, keys):
        signature = self.signed(files, keys)
        assert holds(files, signature=signature, signer=keys[0].with_suffix(".pub"))["signature"] is True
        assert holds(files, signature=signature, signer=keys[1].with_suffix(".pub"))["signature"] is False

    def test_a_changed_manifest_loses_its_signature(self, files, keys):
        signature = self.signed(files, keys)
        edited(files[1], lambda stated: stated.update(remarks=[]))
        assert holds(files, signature=signature, signer=keys[0].with_suffix(".pub"))["signature"] is False

    def test_a_list_of_allowed_signers(self, files, keys, tmp_path):
        signature, allowed = self.signed(files, keys), tmp_path / "allowed"
        lines = {key: f"{key.name}@example.org {key.with_suffix('.pub').read_text()}" for key in keys}
        allowed.write_text("".join(lines.values()))
        assert signature_holds(files[1], signature, allowed)
        allowed.write_text(lines[keys[1]])
        assert not signature_holds(files[1], signature, allowed)

    def test_a_signature_for_another_purpose_is_not_accepted(self, files, keys, tmp_path):
        command = ["ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", keys[0]]
        with files[1].open("rb") as content:
            found = subprocess.run(command, stdin=content, capture_output=True, check=True)
        (tmp_path / "git.sig").write_bytes(found.stdout)
        assert not signature_holds(files[1], tmp_path / "git.sig", keys[0].with_suffix(".pub"))

    def test_no_private_key_no_signature(self, files, tmp_path):
        (tmp_path / "text").write_text("no key")
        with pytest.raises(FileProblem, match="could not sign"):
            sign_file(files[1], tmp_path / "text")

    def test_on_the_command_line(self, files, keys):
        signature = Path(f"{files[1]}.sig")
        assert CliRunner().invoke(app, ["sign", str(files[1]), "--key", str(keys[0])]).exit_code == 0
        verify = ["verify", files[0], "--manifest", files[1], "--signature", signature, "--signer"]
        good = CliRunner().invoke(app, [str(word) for word in [*verify, keys[0].with_suffix(".pub")]])
        assert good.exit_code == 0
        assert good.stdout.count("satisfied") == 4
        bad = CliRunner().invoke(app, [str(word) for word in [*verify, keys[1].with_suffix(".pub"), "--json"]])
        assert bad.exit_code == 1
        assert json.loads(bad.stdout)["checks"]["signature"]["holds"] is False


def test_a_missing_program_is_named(files, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("ssh key")
    (tmp_path / "minisign.key").write_text("untrusted comment: minisign encrypted secret key\n")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(MissingExtra, match="program ssh-keygen, which is not installed; install OpenSSH"):
        sign_file(files[1], tmp_path / "key")
    with pytest.raises(MissingExtra, match="program minisign"):
        sign_file(files[1], tmp_path / "minisign.key")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for minisign")
def test_a_key_of_minisign_is_passed_to_minisign(files, tmp_path, monkeypatch):
    """The program itself may not be installed; a script that records its arguments stands for it."""
    program = tmp_path / "bin" / "minisign"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nwhile [ $# -gt 0 ]; do\n'
        '  if [ "$1" = -x ] && [ ! -e "$2" ]; then echo "untrusted comment: signature" > "$2"; fi; shift\ndone\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    key, signature = tmp_path / "minisign.key", tmp_path / "manifest.minisig"
    key.write_text("untrusted comment: minisign encrypted secret key\n")
    signature.write_bytes(sign_file(files[1], key))
    assert signature_holds(files[1], signature, key)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith(f"-S -s {key} -x ")
    assert calls[1] == f"-V -q -p {key} -x {signature} -m {files[1]}"


@pytest.mark.skipif(shutil.which("minisign") is None, reason="the program minisign is not installed")
class TestMinisign:
    """The program itself, with keys without and with a password."""

    @pytest.fixture
    def keys(self, tmp_path):
        for name in ("steward", "other"):
            key = ["minisign", "-G", "-W", "-p", tmp_path / f"{name}.pub", "-s", tmp_path / f"{name}.key"]
            subprocess.run(key, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return tmp_path / "steward.key", tmp_path / "other.key"

    def test_signer_manifest_and_signature_must_belong_together(self, files, keys, tmp_path):
        signature = tmp_path / "manifest.minisig"
        signature.write_bytes(sign_file(files[1], keys[0]))
        publics = [key.with_suffix(".pub") for key in keys]
        assert holds(files, signature=signature, signer=publics[0])["signature"] is True
        assert holds(files, signature=signature, signer=publics[1])["signature"] is False
        edited(files[1], lambda stated: stated.update(remarks=[]))
        assert holds(files, signature=signature, signer=publics[0])["signature"] is False

    def test_a_signature_by_the_other_program_does_not_hold(self, files, keys, tmp_path):
        ssh = tmp_path / "ssh"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh], check=True)
        (tmp_path / "mini.sig").write_bytes(sign_file(files[1], keys[0]))
        (tmp_path / "ssh.sig").write_bytes(sign_file(files[1], ssh))
        assert not signature_holds(files[1], tmp_path / "mini.sig", ssh.with_suffix(".pub"))
        assert not signature_holds(files[1], tmp_path / "ssh.sig", keys[0].with_suffix(".pub"))

    def test_on_the_command_line(self, files, keys):
        assert CliRunner().invoke(app, ["sign", str(files[1]), "--key", str(keys[0])]).exit_code == 0
        signature = Path(f"{files[1]}.sig")
        verify = ["verify", files[0], "--manifest", files[1], "--signature", signature, "--signer"]
        for key, code in zip(keys, (0, 1), strict=True):
            result = CliRunner().invoke(app, [str(word) for word in [*verify, key.with_suffix(".pub")]])
            assert result.exit_code == code

    def test_a_password_is_asked_for_on_the_terminal(self, files, tmp_path):
        pty = pytest.importorskip("pty")
        key = tmp_path / "locked.key"
        making = ["minisign", "-G", "-p", tmp_path / "locked.pub", "-s", key]
        subprocess.run(making, input=b"secret\nsecret\n", check=True, capture_output=True)
        terminal, inside = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "sign", files[1], "--key", key, "--quiet"],
            stdin=inside, stdout=inside, stderr=inside,
        )  # fmt: skip
        os.close(inside)  # so that reading ends in an error, not in a wait, where the process ends early
        shown = b""
        while b"Password:" not in shown:
            shown += os.read(terminal, 1024)
        os.write(terminal, b"secret\n")
        assert process.wait(timeout=240) == 0
        os.close(terminal)
        assert signature_holds(files[1], Path(f"{files[1]}.sig"), tmp_path / "locked.pub")


def test_a_signature_needs_its_signer(files):
    with pytest.raises(ParameterError, match="signer="):
        verify_release(files[0], files[1], signature="x.sig")


def test_the_command_line_prints_checks_and_fingerprint(files):
    verify = CliRunner().invoke(app, ["verify", str(files[0]), "--manifest", str(files[1])])
    assert verify.exit_code == 0, verify.output
    assert verify.stdout.startswith("file is satisfied: the file has the bytes that the manifest states")
    assert "recount is satisfied: k=4 requested" in verify.stdout
    printed = CliRunner().invoke(app, ["fingerprint", str(files[0])]).stdout.strip()
    assert printed == f"sha256:{json.loads(files[1].read_text())['output']['sha256']}"
    files[0].write_bytes(b"age\n1\n")
    assert CliRunner().invoke(app, ["verify", str(files[0]), "--manifest", str(files[1])]).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "-k with --quasi, or the manifest"),
        (["--signature", "x"], "name it with --manifest"),
        (["--manifest", "x.json", "--quasi", "age"], "--quasi is stated by the manifest"),
        (["--manifest", "x.json", "-k", "3"], "--k is stated by the manifest"),
    ],
)
def test_wrong_use_of_verify_is_one_sentence(files, arguments, text):
    result = CliRunner().invoke(app, ["verify", str(files[0]), *arguments])
    assert isinstance(result.exception, ParameterError)
    assert text in str(result.exception)
