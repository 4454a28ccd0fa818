"""Every reason code, once, with its sentence and its cure: reply, terminal, README and tests all read it here."""

from dataclasses import dataclass

#: Reasons why a constraint is unbound (`gaps.unbound`).
RELATION_UNKNOWN = "relation_unknown"
SLOT_UNKNOWN = "slot_unknown"
VOCABULARY_UNBOUND = "vocabulary_unbound"
#: Reasons why nothing ran (`unbound_because`).
NO_CONSTRAINT_BOUND = "no_constraint_bound"
NO_RELATION_DECLARED = "workspace_declares_no_relation"
#: Reasons why a complete set was delivered in part.
NARROWED = "narrowed"
TRUNCATED = "truncated"
#: Reasons why a compiled constraint was dropped (`compiled.dropped`), beside RELATION_UNKNOWN and SLOT_UNKNOWN.
QUOTE_EMPTY = "quote_empty"
QUOTE_NOT_IN_BRIEF = "quote_not_in_brief"
QUOTE_NOT_WHOLE_WORDS = "quote_not_whole_words"
QUOTE_CROSSES_SENTENCES = "quote_crosses_sentences"
SPAN_AMBIGUOUS = "span_ambiguous"
OP_UNKNOWN = "op_unknown"
KEY_UNKNOWN = "key_unknown"
VALUE_UNANSWERABLE = "value_unanswerable"
CONSTRAINT_MALFORMED = "constraint_malformed"
CONSTRAINTS_TOO_MANY = "constraints_too_many"
TOOL_CALLED_AGAIN = "tool_called_again"
AS_OF_NO_MONTH = "as_of_no_month"
AS_OF_NOT_IN_BRIEF = "as_of_not_in_brief"


@dataclass(frozen=True)
class Reason:
    """A reason the licence is withheld. `sentence` and `cure` are filled with `{subject}` (the relation, slot
    or index after the colon), `{count}`, `{detail}`; `of` says what follows the colon; `counts` what is counted."""

    code: str
    of: str
    counts: str
    sentence: str
    cure: str


#: In the order a licence lists them.
LICENCE: tuple[Reason, ...] = (
    Reason(
        "acl", "", "",
        "Your key reads only some of the documents.",
        "Ask with a key that reads all sources, or read the answer as one about your own scope.",
    ),
    Reason(
        "constraints_dropped", "", "constraints",
        "Part of what the brief was compiled to could not be traced to its words and did not run.",
        "Read the dropped constraints under `compiled`, correct them, and send constraints.",
    ),
    Reason(
        "brief_uncompiled", "", "sentences",
        "A sentence of the brief became no constraint: that part was not searched.",
        "Reword the sentence, or send the constraint it means.",
    ),
    Reason(
        "constraint_unbound", "index", "",
        "Constraint {subject} could not run ({detail}): that part of the request was not searched.",
        "Name a declared relation and slot, or give the axis a vocabulary in the pack.",
    ),
    Reason(
        "vocabulary_unknown_surface", "slot", "entities",
        "{detail} is on no term of its axis, so only rows with that very spelling are certain for {subject}.",
        "Ask with a term or synonym of the axis, or add the spelling to the pack's vocabulary.",
    ),
    Reason(
        "vocabulary_unplaced", "slot", "entities",
        "Rows hold a {subject} that is on no term of its axis: {detail}.",
        "Place these surfaces: `closedset vocab place`, or a synonym or new term in the pack and a new load.",
    ),
    Reason(
        "vocabulary_coarse", "slot", "entities",
        "Rows hold a {subject} wider than what is asked: {detail}.",
        "Ask for the wider term, record the narrower one, or declare the axis `interior: exact`.",
    ),
    Reason(
        "entities_not_recorded", "", "entities",
        "Never looked at for a required relation ({detail}): {count} of the entities.",
        "Load coverage for these entities, or their rows.",
    ),
    Reason(
        "relation_not_recorded", "relation", "entities",
        "Nobody was ever looked at for {subject}.",
        "Load an export that fills {subject}, with what it covers.",
    ),
    Reason(
        "undated_rows_unanswerable", "relation", "entities",
        "Rows of {subject} cannot be placed in time as precisely as asked.",
        "Record fuller dates, give the relation its one date slot, or ask for what the dates can decide.",
    ),
    Reason(
        "open_period_rows_unanswerable", "relation", "entities",
        "A constraint on the period meets rows of {subject} whose period column is empty.",
        "Record the period's start or end, or ask with `as_of`, which knows what an open end means.",
    ),
    Reason(
        "corrected_rows_unanswerable", "relation", "entities",
        "A correction retired a row of {subject} that its source still states.",
        "Mend the source and load it again, or undo the correction.",
    ),
    Reason(
        "withheld_rows_unanswerable", "relation", "entities",
        "The export holds rows of {subject} that could not be read, and no readable row matches.",
        "Mend the rows named in the load report, then load again.",
    ),
    Reason(
        "unattributed_rows_withheld", "relation", "rows",
        "Rows of {subject} that name no entity: {count}. Whoever they are about is in no list.",
        "Give these rows their entity id in the export, then load again.",
    ),
    Reason(
        "slot_unrecorded_rows_unanswerable", "relation", "entities",
        "Rows of {subject} hold no value for a slot that is asked ({detail}).",
        "Record the values, map the column that holds them, or say in the map what an absent value means.",
    ),
    Reason(
        "slot_unreadable_rows_unanswerable", "relation", "entities",
        "Rows of {subject} hold text that the slot's type cannot read ({detail}).",
        "Declare the date format, the decimal mark or the null markers in the map, then load again.",
    ),
)  # fmt: skip
BY_CODE = {reason.code: reason for reason in LICENCE}
TRUNCATED_REASON = Reason(
    TRUNCATED, "", "matches",
    "Matches of the set that are not in this reply: {count}.",
    "Page on with `offset`, or read the whole set with `partition`; the counts already describe all of it.",
)  # fmt: skip

#: What an unbound constraint's reason means, for the README and the terminal.
UNBOUND = {
    RELATION_UNKNOWN: "The pack declares no relation of that name.",
    SLOT_UNKNOWN: "The relation declares no slot of that name.",
    VOCABULARY_UNBOUND: "The slot's axis has no vocabulary, so nothing can vouch for its values.",
}
#: What a dropped constraint's reason means.
DROPPED = {
    QUOTE_EMPTY: "It quotes nothing, so nothing shows that the brief asks it.",
    QUOTE_NOT_IN_BRIEF: "The brief does not say what it quotes: the constraint came from nowhere.",
    QUOTE_NOT_WHOLE_WORDS: "What it quotes stands in the brief only inside longer words.",
    QUOTE_CROSSES_SENTENCES: "What it quotes runs from one sentence into the next.",
    SPAN_AMBIGUOUS: "What it quotes stands in the brief more than once, and its span is on none of them.",
    RELATION_UNKNOWN: UNBOUND[RELATION_UNKNOWN],
    SLOT_UNKNOWN: UNBOUND[SLOT_UNKNOWN],
    OP_UNKNOWN: "The slot's type has no such op.",
    KEY_UNKNOWN: "It carries a key that no constraint has, so it may mean more than could run.",
    VALUE_UNANSWERABLE: "Its value is none that the slot's type can be asked.",
    CONSTRAINT_MALFORMED: "It has not the form of a constraint.",
    CONSTRAINTS_TOO_MANY: "It stands beyond the most constraints that one brief may become.",
    TOOL_CALLED_AGAIN: "It stands in a second tool call: only the first is the compile.",
    AS_OF_NO_MONTH: "The month it asks at is not written YYYY-MM.",
    AS_OF_NOT_IN_BRIEF: "The brief does not write the month it asks at.",
}
NOTHING_RAN = {
    NO_CONSTRAINT_BOUND: "No constraint of the request could run.",
    NO_RELATION_DECLARED: "The pack declares no relation at all.",
}


def full_code(code: str, subject: str = "") -> str:
    """A code as the reply prints it: with what it is about after a colon."""
    return f"{code}:{subject}" if subject else code


def order(code: str) -> int:
    """The place of a code in the licence's order."""
    return LICENCE.index(BY_CODE[code])
