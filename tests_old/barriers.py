"""What hinders people on a page that a browser shows, by the rules of axe.

Whether words can be read against their background costs four fifths of the time, because axe looks below every piece of text
anew. It is decided by how the words and all that lies around them look, so one piece of text of each look is asked about.
"""

from __future__ import annotations

from typing import Any

# All rules but that of contrast; then every piece of text that looks like an earlier one, with all that lies around it, is blanked,
# and the rule of contrast sees what is left.
LOOK = """async () => {
  const asked = { resultTypes: ['violations'] }
  const rest = await axe.run(document, { ...asked, rules: { 'color-contrast': { enabled: false } } })
  const known = new Map([[null, '']])
  const around = each => {
    if (!known.has(each)) {
      const style = getComputedStyle(each)
      known.set(each, [around(each.parentElement), style.backgroundColor, style.backgroundImage, style.opacity, style.position].join())
    }
    return known.get(each)
  }
  const texts = [], seen = new Set(), repeated = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode)
  for (const text of texts) {
    const home = text.parentElement, own = getComputedStyle(home)
    const look = [home.tagName, own.color, own.fill, own.fontSize, own.fontWeight, own.textShadow, around(home)].join()
    if (seen.has(look)) repeated.push(text)
    seen.add(look)
  }
  repeated.forEach(text => { text.data = '' })
  const contrast = await axe.run(document, { ...asked, runOnly: ['color-contrast'] })
  return { violations: [...rest.violations, ...contrast.violations], texts: texts.length, looks: seen.size }
}"""


def barriers(page: Any) -> str:
    """What axe finds, as it reports it; nothing if all is well. Afterwards the page lacks most of its words."""
    from axe_playwright_python.base import AxeResults
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(Axe().axe_script)
    found = page.evaluate(LOOK)
    assert 0 < found["looks"] <= found["texts"]
    return str(AxeResults(found).generate_report()) if found["violations"] else ""
