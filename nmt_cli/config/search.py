"""Settings of the section `search`."""

from nmt_cli.config.section import Section, setting


class SearchConfig(Section):
    """How the best translation is looked for."""

    beam_size: int = setting(5, "hypotheses kept at each step; 1 is greedy search", ge=1)
    length_penalty: float = setting(1.0, "exponent of the length by which a score is divided; 0 for none", ge=0.0)
    max_length: int = setting(256, "longest translation, in tokens", ge=1)
