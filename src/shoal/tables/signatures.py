"""Detached signatures of files, made and verified by ssh-keygen or minisign.

Shoal has no cryptography of its own: it calls the program that the key belongs to. An SSH key signs under the namespace
``shoal-release``, so that a signature made for another purpose is not accepted here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from shoal.errors import FileProblem, MissingExtra

NAMESPACE = "shoal-release"
_MINISIGN = b"untrusted comment:"
_PROGRAMS = {"ssh-keygen": "OpenSSH", "minisign": "minisign"}


def sign_file(path: Path, key: Path) -> bytes:
    """Return a detached signature of a file.

    Parameters
    ----------
    path
        The file.
    key
        An SSH key (private, or public with the private one in an agent) or a private key of minisign. The program asks
        for a passphrase where the key has one.
    """
    content = _read(path, "the file to be signed")
    if _read(key, "the key").startswith(_MINISIGN):
        with TemporaryDirectory() as directory:
            signature = Path(directory, "signature")
            _run(["minisign", "-S", "-s", str(key), "-x", str(signature), "-m", str(path)], key)
            return signature.read_bytes()
    return _run(["ssh-keygen", "-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)], key, content)


def signature_holds(path: Path, signature: Path, signer: Path) -> bool:
    """Return whether a signature of a file was made by a signer.

    Parameters
    ----------
    path
        The file.
    signature
        The detached signature.
    signer
        The public key of the signer (SSH or minisign), or a list of allowed signers as ssh-keygen reads it.
    """
    content = _read(path, "the signed file")
    signed = _read(signature, "the signature")
    allowed = _read(signer, "the public key of the signer")
    if signed.startswith(_MINISIGN):
        arguments = ["minisign", "-V", "-q", "-p", str(signer), "-x", str(signature), "-m", str(path)]
        return _succeeds(arguments)
    first = allowed.split(maxsplit=1)[:1]
    with TemporaryDirectory() as directory:
        names = Path(directory, "allowed_signers")
        is_key = bool(first) and first[0].startswith((b"ssh-", b"ecdsa-", b"sk-"))
        names.write_bytes(b"signer " + allowed if is_key else allowed)
        find = ["ssh-keygen", "-Y", "find-principals", "-s", str(signature), "-f", str(names)]
        found = subprocess.run(_located(find), capture_output=True, check=False)  # noqa: S603 - no shell
        if found.returncode or not found.stdout.strip():
            return False
        name = found.stdout.decode("utf-8", "replace").splitlines()[0]
        verify = ["-Y", "verify", "-f", str(names), "-I", name, "-n", NAMESPACE, "-s", str(signature)]
        return _succeeds(["ssh-keygen", *verify], content)


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise FileProblem(f"{path}: {what} cannot be read ({(problem.strerror or 'unknown').lower()})") from None


def _located(arguments: list[str]) -> list[str]:
    program = shutil.which(arguments[0])
    if program is None:
        raise MissingExtra(
            f"signatures need the program {arguments[0]}, which is not installed; install "
            f"{_PROGRAMS[arguments[0]]}, or sign and verify on another machine"
        )
    return [program, *arguments[1:]]


def _run(arguments: list[str], key: Path, content: bytes | None = None) -> bytes:
    """Run a program that signs; it may ask for a passphrase on the terminal, minisign by its standard error."""
    asked = sys.stdin is not None and sys.stdin.isatty()
    result = subprocess.run(  # noqa: S603 - no shell
        _located(arguments), input=content, stdout=subprocess.PIPE, stderr=None if asked else subprocess.PIPE,
        check=False,
    )  # fmt: skip
    if result.returncode:
        raise FileProblem(f"{arguments[0]} could not sign with {key}; check that it is a private key that you may use")
    return result.stdout


def _succeeds(arguments: list[str], content: bytes | None = None) -> bool:
    result = subprocess.run(_located(arguments), input=content, capture_output=True, check=False)  # noqa: S603
    return result.returncode == 0
