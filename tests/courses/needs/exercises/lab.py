"""Functions that checks with needs call."""


def plain():
    """Answers as the check of `plain` says."""
    raise NotImplementedError("write `plain` here")


def marked():
    """Answers as the check of `marked` says."""
    raise NotImplementedError("write `marked` here")


def early():
    """Answers as the check of `early` says."""
    raise NotImplementedError("write `early` here")


def after_marked():
    """Answers as the check of `after_marked` says."""
    raise NotImplementedError("write `after_marked` here")


def after_that():
    """Answers as the check of `after_that` says."""
    raise NotImplementedError("write `after_that` here")


def asked():
    """Answers as the check of `asked` says."""
    raise NotImplementedError("write `asked` here")


def late():
    """Answers as the check of `late` says."""
    raise NotImplementedError("write `late` here")


def text(text):
    """Answers as the check of `text` says."""
    raise NotImplementedError("write `text` here")


def after_asked():
    """Answers as the check of `after_asked` says."""
    raise NotImplementedError("write `after_asked` here")
