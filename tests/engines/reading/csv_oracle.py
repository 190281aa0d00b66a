"""CSV read byte by byte, as RFC 4180 has it: slow, and without a doubt."""

START, PLAIN, QUOTED, CLOSED, RETURN, BLANK = range(6)


def records(body, delimiter=b","):  # noqa: C901, PLR0912 (an automaton, state by state)
    """Return the fields of all records, none for blank lines; None if not well formed."""
    found, fields, field, state = [], [], bytearray(), START
    for number in range(len(body)):
        sign = body[number : number + 1]
        if state == QUOTED:
            if sign == b'"':
                state = CLOSED
            else:
                field += sign
        elif state in {RETURN, BLANK} and sign != b"\n":
            return None
        elif sign == b'"':
            if state == PLAIN:
                return None
            if state == CLOSED:
                field += sign
            state = QUOTED
        elif sign == delimiter:
            fields, field, state = [*fields, bytes(field)], bytearray(), START
        elif sign == b"\n":
            blank = not fields and not field and state in {START, BLANK}
            found.append([] if blank else [*fields, bytes(field)])
            fields, field, state = [], bytearray(), START
        elif sign == b"\r":
            state = BLANK if state == START and not fields else RETURN
        elif state == CLOSED:
            return None
        else:
            field += sign
            state = PLAIN
    if state in {QUOTED, RETURN, BLANK}:
        return None
    if fields or field or state == CLOSED:
        found.append([*fields, bytes(field)])
    try:
        body.decode()
    except UnicodeDecodeError:
        return None
    return found


def rows(body, width, delimiter=b","):
    """Return the rows of a file without its header: as wide as they should be, '' as None."""
    read = records(body, delimiter)
    if read is None:
        return None
    wide = [(*record, *[b""] * width)[:width] for record in read if record or width == 1]
    return [tuple(field.decode() or None for field in record) for record in wide]
