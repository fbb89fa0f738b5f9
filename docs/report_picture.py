"""Take the screenshot of the report for README.md and docs: the top of the page that ``shoal demo`` writes.

Needs ``shoal[browser]`` and a Chromium. Run from the root: python docs/report_picture.py.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "report.png"
SIZE = {"width": 1280, "height": 1225}


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, "-m", "shoal", "demo", "--quiet", "--folder", folder], check=True)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
