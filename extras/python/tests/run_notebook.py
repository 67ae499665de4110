"""Runs a notebook in a fresh kernel: extras/python/tests/run_notebook.py NOTEBOOK [--write]

No cell may fail, and what cells print must be what the notebook shows. With --write the notebook shows
what they print now. It reads its text from the path in the environment variable TRIL_TEXT.
"""
import sys

import nbclient
import nbformat

BAR = "application/vnd.jupyter.widget-view+json"  # of progress


def shown(notebook):
    """What each cell shows, but not bars of progress, which say how fast it was."""
    texts = []
    for cell in notebook.cells:
        parts = []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if output.get("name") != "stderr" and BAR not in data:
                parts.append(output.get("text") or data.get("text/html") or data.get("text/plain"))
        texts.append("".join(parts))
    return texts


def main(path, write):
    notebook = nbformat.read(path, as_version=4)
    before = shown(notebook)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    if write:
        clean(notebook)
        nbformat.write(notebook, path)
        return
    for number, (old, new) in enumerate(zip(before, shown(notebook))):
        if old != new:
            sys.exit(f"{path}: cell {number} shows\n{old}\nand prints\n{new}")
    print(f"{path}: {len(before)} cells")


def clean(notebook):
    """Leaves out what differs from run to run: when cells ran, bars, and where their output was cut."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        kept = []
        for output in cell.get("outputs", []):
            if output.get("name") == "stdout" and kept and kept[-1].get("name") == "stdout":
                kept[-1].text += output.text
            elif output.get("name") != "stderr" and BAR not in output.get("data", {}):
                kept.append(output)
        if "outputs" in cell:
            cell.outputs = kept


if __name__ == "__main__":
    main(sys.argv[1], "--write" in sys.argv)
