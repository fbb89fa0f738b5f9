"""``shoal sign`` and ``shoal fingerprint``: who made a release, and which file it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags


@flags.command("output", without=["threads"])
def sign_command(
    given: flags.Given,
    file: Annotated[Path, typer.Argument(help="The manifest; it states the SHA-256 of the table.")],
    key: Annotated[Path, typer.Option(help="SSH key, or private key of minisign.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Signature; FILE.sig if not given.")] = None,
    force: flags.Force = False,
) -> None:
    """Sign a manifest with ssh-keygen or minisign; shoal verify --signature verifies the signature.

    Example: shoal sign safe.manifest.json --key ~/.ssh/id_ed25519
    """
    from shoal.cli.terminal import console, printable
    from shoal.tables.atomic import write_files
    from shoal.tables.files import check_output
    from shoal.tables.signatures import sign_file

    target = file.with_name(f"{file.name}.sig") if output is None else output
    check_output(target, inputs=(file, key), table=False, overwrite=force)
    signature = sign_file(file, key)

    def write(temporary: Path) -> None:
        temporary.write_bytes(signature)

    write_files({target: write})
    if given.json:
        flags.print_json({"file": str(file), "signature": str(target)})
    elif not given.quiet:
        console().print(f"written: {printable(str(target))}", soft_wrap=True, markup=False)


@flags.command("output", without=["threads"])
def fingerprint_command(given: flags.Given, file: Annotated[Path, typer.Argument(help="A released file.")]) -> None:
    """Print the SHA-256 of the bytes of a file, which its manifest states as output.sha256.

    Example: shoal fingerprint safe.csv
    """
    from shoal.api.release_check import file_digest

    size, digest = file_digest(file)
    if given.json:
        flags.print_json({"file": file.name, "bytes": size, "sha256": digest})
    elif not given.quiet:
        typer.echo(f"sha256:{digest}")
