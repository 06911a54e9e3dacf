"""The page of a certificate: a section per family with its figure, the defaults, the accuracy."""

from __future__ import annotations

from steelyard.render.certificate import (
    EXACT_HEADS,
    EXACT_NUMBERS,
    HEADS,
    NUMBERS,
    claim_cells,
    exact_cells,
    families,
    forest,
    opening,
    preference_sentences,
    sayings,
)
from steelyard.render.html.pieces import DRAWN, Block, PageSection, Part, Picture, Sentences, capped, joined
from steelyard.render.pictures.forest import Forest
from steelyard.results.certificate import Certificate


def certificate_part(c: Certificate) -> Part:
    """Everything that was claimed and found."""
    sections = []
    for family, claims in families(c).items():
        table = capped(f"Claims about {family}", [*HEADS[:-1], "holds"], [claim_cells(claim) for claim in claims], numbers=NUMBERS)
        blocks: list[Block] = [Picture(drawing=forest(family, claims), table=table)]
        said = [*sayings(claims), *preference_sentences(c, family)]
        sections.append(PageSection(title=family, blocks=[*blocks, Sentences(said=said)]))
    exact = capped("Worst error of closed forms", [*EXACT_HEADS[:-1], "holds"], exact_cells(c), numbers=EXACT_NUMBERS)
    return Part(
        word="certificate",
        about=opening(c),
        tone="regression" if c.faults else "pass",
        lead=c.conclusion,
        sections=joined(
            PageSection(title="What does not hold", blocks=[Sentences(said=c.faults)] if c.faults else []),
            *sections,
            PageSection(title="Closed forms against 50 digits", blocks=[exact] if c.accuracy else []),
        ),
        warnings=c.warnings,
        methods=[(name, version) for name, version in c.versions.items()],
        signature=c.signature,
    )


def certificate_forest(c: Certificate) -> Forest | None:
    """The defaults of all families on one axis, each with the least and the most that was found."""
    drawn = [claim for claim in c.claims if claim.default and claim.kind == "coverage"] or list(c.claims)
    return forest("the defaults", drawn[:DRAWN]) if drawn else None
