"""Functions that checks with needs call."""


def plain():
    """Answers as the check of `plain` says."""
    # solution:
    return 1
    # end


def marked():
    """Answers as the check of `marked` says."""
    # solution:
    return 1
    # end


def early():
    """Answers as the check of `early` says."""
    # solution:
    return 1
    # end


def after_marked():
    """Answers as the check of `after_marked` says."""
    # solution:
    return 1
    # end


def after_that():
    """Answers as the check of `after_that` says."""
    # solution:
    return 1
    # end


def asked():
    """Answers as the check of `asked` says."""
    # solution:
    return True
    # end


def late():
    """Answers as the check of `late` says."""
    # solution:
    return None
    # end


def text(text):
    """Answers as the check of `text` says."""
    # solution:
    return text
    # end


def after_asked():
    """Answers as the check of `after_asked` says."""
    # solution:
    return 1
    # end
