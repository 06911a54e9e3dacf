"""What hinders people on a page that a browser shows, by the rules of axe.

Whether words can be read against their background costs four fifths of the time, because axe looks below every piece of text
anew. It is decided by how the words and all that lies around them look, so one piece of text of each look is asked about.
"""

from __future__ import annotations

from typing import Any

CONTRAST = "color-contrast"
# Blanks every piece of text that looks like an earlier one, with all that lies around it; says how many there were, and how many stay.
ONE_OF_EACH_LOOK = """() => {
  const texts = [], seen = new Set(), repeated = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode)
  for (const text of texts) {
    const own = getComputedStyle(text.parentElement)
    const look = [text.parentElement.tagName, own.color, own.fill, own.fontSize, own.fontWeight, own.textShadow]
    for (let each = text.parentElement; each; each = each.parentElement) {
      const style = getComputedStyle(each)
      look.push(style.backgroundColor, style.backgroundImage, style.opacity, style.position)
    }
    if (seen.has(look.join())) repeated.push(text)
    seen.add(look.join())
  }
  repeated.forEach(text => { text.data = '' })
  return [texts.length, seen.size]
}"""


def barriers(page: Any) -> str:
    """What axe finds, as it reports it; nothing if all is well. Afterwards the page lacks most of its words."""
    from axe_playwright_python.sync_playwright import Axe

    rest = Axe().run(page, options={"resultTypes": ["violations"], "rules": {CONTRAST: {"enabled": False}}})
    before, looks = page.evaluate(ONE_OF_EACH_LOOK)
    assert 0 < looks <= before
    contrast = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": [CONTRAST]})
    return "\n".join(str(found.generate_report()) for found in (rest, contrast) if found.violations_count)
