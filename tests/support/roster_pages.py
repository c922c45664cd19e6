"""The roster pages: addresses, a roster file, and reading what they changed."""

from __future__ import annotations

import html
import re
from typing import Any

from tests.support.world import World

ROSTER = "/courses/one/roster"
IMPORT = ROSTER + "/import"
HOSTILE = '"><script>alert(1)</script>{{ 7 * 7 }}'
CSV = "login,name,role,section\nada,Ada L.,student,B\nemmy,Emmy Noether,,A\n"


def people(world: World) -> dict[str, dict[str, Any]]:
    return {each["login"]: each for each in world.read("/api/v1/courses/one/people", "irene")}


def confirm(page: Any) -> dict[str, str]:
    """The form by which a preview is confirmed, as a browser would send it."""
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text))
    text = re.search(r'<textarea name="csv" hidden[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL)
    assert text is not None, page.text
    return form | {"csv": html.unescape(text[1]), "action": "apply"}


def actions(world: World) -> list[str]:
    return [each["action"] for each in world.read("/api/v1/courses/one/audit", "irene")]
