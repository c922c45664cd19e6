"""Print how easy the house is to enter: modules, lines, importers, verbs and class names.

Usage: python -m tools.house [FOLDER]   FOLDER is another checkout, to compare with
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

_PACKAGE = "grader"


def load_modules(root: Path) -> dict[str, tuple[Path, ast.Module]]:
    """All modules of the package by name, with their files and trees."""
    modules = {}
    for path in sorted((root / _PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return modules


def find_importers(modules: dict[str, tuple[Path, ast.Module]]) -> dict[str, set[str]]:
    """For every module the modules that import it or something of it."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, (_, tree) in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    importers[full if full in modules else node.module].add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importers[alias.name].add(name)
    return importers


def main() -> None:
    """Print the figures."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    modules = load_modules(root)
    importers = find_importers(modules)
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    verbs: set[str] = set()
    classes: Counter[str] = Counter()
    for name, (path, tree) in modules.items():
        package = ".".join(name.split(".")[:2]) if path.parent != root / _PACKAGE else _PACKAGE
        sizes[package] += len(path.read_text(encoding="utf-8").splitlines())
        counts[package] += 1
        if path.name != "__init__.py":
            folders[str(path.parent.relative_to(root))] += 1
        verbs |= {
            node.name.split("_")[0]
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
        }
        classes.update(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    single = [
        name
        for name, (path, _) in modules.items()
        if len(importers[name]) == 1 and path.name != "__init__.py"
    ]
    print(f"{'package':24}{'modules':>8}{'lines':>8}")
    for package in sorted(counts):
        print(f"{package:24}{counts[package]:8}{sizes[package]:8}")
    print(f"{'all':24}{counts.total():8}{sizes.total():8}\n")
    folder, most = folders.most_common(1)[0]
    print(f"most modules in one folder:             {most} ({folder})")
    print(f"modules with one importer:              {len(single)}")
    print(f"first words of public functions:        {len(verbs)}")
    print(f"class names that are defined twice:     {sum(n > 1 for n in classes.values())}")


if __name__ == "__main__":
    main()
