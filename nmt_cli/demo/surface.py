"""The last step to a sentence, the same in both languages."""


def punctuate(words: list[str], end: str) -> str:
    """Join the words; a comma that meets another comma or the end disappears."""
    text = ""
    for word in words:
        if word != ",":
            text += f" {word}"
        elif not text.endswith(","):
            text += ","
    text = text.strip(" ,")
    return text[0].upper() + text[1:] + end
