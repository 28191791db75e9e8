"""Schedules with one thing wrong, by kind, and harmless ones that look wrong: what `bridge.py` asks the verdict about.

A variant is (kind, form, rows); rows are lists of cells. Its maker gets the rows of a good list and returns them changed, or None where the
list has nothing to change. What comes of it is not said here: PyTorch is asked.
"""
import re


def _find(rows, pattern, nth=0, rank=None):
    """(rank, place) of the nth cell that matches as a whole."""
    cells = [(r, c) for r, row in enumerate(rows) for c in range(len(row)) if rank is None or r == rank]
    found = [(r, c) for r, c in cells if re.fullmatch(pattern, rows[r][c])]
    return found[nth] if len(found) > abs(nth) - (nth < 0) else None


def _copy(rows):
    return [list(row) for row in rows]


def _drop(pattern, nth=0):
    def make(rows):
        at = _find(rows, pattern, nth)
        if at is None:
            return None
        out = _copy(rows)
        del out[at[0]][at[1]]
        return out
    return make


def _double(pattern, nth=0):
    def make(rows):
        at = _find(rows, pattern, nth)
        if at is None:
            return None
        out = _copy(rows)
        out[at[0]].insert(at[1] + 1, rows[at[0]][at[1]])
        return out
    return make


def _move(pattern, by, nth=0):
    """By so many places; `first` and `last` are the ends of the row."""
    def make(rows):
        at = _find(rows, pattern, nth)
        if at is None:
            return None
        out = _copy(rows)
        cell = out[at[0]].pop(at[1])
        place = {"first": 0, "last": len(out[at[0]])}.get(by)
        out[at[0]].insert(max(0, at[1] + by) if place is None else place, cell)
        return None if out == rows else out
    return make


def _rename(pattern, replacement, nth=0):
    def make(rows):
        at = _find(rows, pattern, nth)
        if at is None:
            return None
        out = _copy(rows)
        out[at[0]][at[1]] = re.sub(pattern, replacement, out[at[0]][at[1]])
        return out
    return make


def _swap(first, second, rank=None):
    def make(rows):
        one, other = _find(rows, first, rank=rank), _find(rows, second, rank=rank)
        if one is None or other is None or one[0] != other[0]:
            return None
        out = _copy(rows)
        out[one[0]][one[1]], out[other[0]][other[1]] = rows[other[0]][other[1]], rows[one[0]][one[1]]
        return out
    return make


def _last_stage(rows):
    return max(int(n) for row in rows for cell in row for n in re.findall(r"(\d+)F\d", cell))


def _reversed_last(rows):
    """The last stage takes its microbatches in the opposite order."""
    last = _last_stage(rows)
    most = max(int(n) for row in rows for cell in row for n in re.findall(r"\dF(\d+)", cell))

    def other(found):
        return f"{last}{found[1]}{most - int(found[2])}"

    return [[re.sub(rf"\b{last}([FBIW])(\d+)", other, cell) for cell in row] for row in rows]


def _last_swapped(kinds):
    def make(rows):
        last = _last_stage(rows)
        out = _copy(rows)
        for kind in kinds:
            changed = _swap(f"{last}{kind}0", f"{last}{kind}1")(out)
            if changed is None:
                return None
            out = changed
        return out
    return make


def _first_swapped(rows):
    """Another stage than the last in another order: harmless where nothing waits for it in a circle."""
    return _swap("0F0", "0F1")(rows)


def _all_first(pattern):
    def make(rows):
        out = [sorted(row, key=lambda cell: re.fullmatch(pattern, cell) is None) for row in rows]
        return None if out == rows else out
    return make


def _stage_on_other_rank(rows):
    cell = rows[0][0]
    return [rows[0][1:], [cell] + rows[1], *rows[2:]] if len(rows) > 1 else None


COMPUTE = {
    "F dropped": _drop(r"\d+F1"),
    "F of the last stage dropped": lambda rows: _drop(rf"{_last_stage(rows)}F1")(rows),
    "last F dropped": _drop(r"\d+F\d+", -1),
    "B or I dropped": _drop(r"\d+[BI]1"),
    "last B or I dropped": _drop(r"\d+[BI]\d+", -1),
    "W dropped": _drop(r"\d+W1"),
    "last W dropped": _drop(r"\d+W\d+", -1),
    "F doubled": _double(r"0F0"),
    "F of an inner stage doubled": _double(r"1F1"),
    "F of the last stage doubled": lambda rows: _double(rf"{_last_stage(rows)}F1")(rows),
    "B or I doubled": _double(r"1[BI]1"),
    "B or I of stage 0 doubled": _double(r"0[BI]0"),
    "W doubled": _double(r"\d+W1"),
    "F behind its B or I": _move(r"1F1", "last"),
    "B or I first": _move(r"\d+[BI]0", "first"),
    "W first": _move(r"\d+W0", "first"),
    "W before its I": _swap(r"1I0", r"1W0"),
    "last W earlier": _move(r"\d+W\d+", -1, -1),
    "B or I one earlier": _move(r"0[BI]0", -1),
    "B or I last": _move(r"0[BI]0", "last"),
    "B or I of an inner stage last": _move(r"1[BI]0", "last"),
    "F of stage 0 later": _move(r"0F0", 1),
    "F of stage 0 last but one": _move(r"0F1", 2),
    "first two microbatches of stage 0 swapped": _first_swapped,
    "first two microbatches of stage 1 swapped": _swap("1F0", "1F1"),
    "last stage reversed": _reversed_last,
    "last stage's forwards swapped": _last_swapped("F"),
    "last stage's forwards and backwards swapped": _last_swapped("FB"),
    "last stage's backwards swapped": _last_swapped("B"),
    "first action on another rank": _stage_on_other_rank,
    "a rank's row lost": lambda rows: rows[:-1] if len(rows) > 2 else None,
    "a row more": lambda rows: [*rows, [f"{_last_stage(rows) + 1}F0", f"{_last_stage(rows) + 1}B0"]],
    "rows exchanged": lambda rows: [rows[1], rows[0], *rows[2:]],
    "stage that is not there": _rename(r"1F1", "99F1"),
    "microbatch that is not there": _rename(r"1F1", "1F77"),
    "an unknown kind": _rename(r"1F1", "1Q1"),
    "a recomputation": lambda rows: [["0R0", *rows[0]], *rows[1:]],
    "slices": lambda rows: [",".join("0F0.0,0F0.1" if cell == "0F0" else cell for cell in row).split(",") for row in rows],
    "no microbatch": _rename(r"0F0", "0F"),
    "a letter too many": _rename(r"(0F0)", r"\1x"),
    "a message": lambda rows: [["0SEND_F0", *rows[0]], *rows[1:]],
    "a blank more": lambda rows: [["", *rows[0]], *rows[1:]],
    "B as I without W": _rename(r"1B1", "1I1"),
    "I as B with W": _rename(r"1I1", "1B1"),
    "W without I": lambda rows: [[*rows[0], "0W0"], *rows[1:]] if not _find(rows, r"0I0") else None,
    "a pair of two forwards": lambda rows: _rename(r"\((\d+F\d+);.*\)OVERLAP_F_B", r"(\1;\1)OVERLAP_F_B")(rows),
    "a pair's parts exchanged": _rename(r"\((.*);(.*)\)OVERLAP_F_B", r"(\2;\1)OVERLAP_F_B"),
    "a pair taken apart": lambda rows: [re.sub(r"\(([^;]*);([^)]*)\)OVERLAP_F_B", r"\1,\2", ",".join(row)).split(",") for row in rows]
    if _find(rows, r"\(.*") else None,
    "unchanged": _copy,
}

LOWERED = {
    "SEND_F dropped": _drop(r"\d+SEND_F1"),
    "SEND_B dropped": _drop(r"\d+SEND_B1"),
    "last SEND_B dropped": _drop(r"\d+SEND_B\d+", -1),
    "RECV_F dropped": _drop(r"\d+RECV_F1"),
    "RECV_B dropped": _drop(r"\d+RECV_B1"),
    "SEND_F twice": _double(r"\d+SEND_F0"),
    "SEND_B twice": _double(r"\d+SEND_B0"),
    "last SEND_B twice": _double(r"\d+SEND_B\d+", -1),
    "RECV_F twice": _double(r"\d+RECV_F0"),
    "RECV_B twice": _double(r"\d+RECV_B0"),
    "SEND_F before its F": _move(r"\d+SEND_F0", "first"),
    "SEND_B before its B": _move(r"\d+SEND_B0", "first"),
    "RECV_F behind its F": _move(r"\d+RECV_F0", 1),
    "RECV_B behind its B": _move(r"\d+RECV_B0", 2),
    "RECV_F last": _move(r"\d+RECV_F1", "last"),
    "RECV_B last": _move(r"\d+RECV_B1", "last"),
    "two receives swapped": _swap(r"1RECV_F0", r"1RECV_F1"),
    "two sends swapped": _swap(r"0SEND_F0", r"0SEND_F1"),
    "two receives of gradients swapped": _swap(r"0RECV_B0", r"0RECV_B1"),
    "RECV_B before the first SEND_F": _move(r"0RECV_B0", "first"),
    "RECV_F one op early": _move(r"\d+RECV_F1", -1),
    "RECV_B one op early": _move(r"\d+RECV_B1", -1),
    "all RECV_B first": _all_first(r"\d+RECV_B\d+"),
    "all RECV_F first": _all_first(r"\d+RECV_F\d+"),
    "SEND_F behind another op": _move(r"0SEND_F0", 1),
    "SEND_F two later": _move(r"0SEND_F1", 2),
    "SEND_F last": _move(r"0SEND_F1", "last"),
    "wrong stage sends": _rename(r"1SEND_B1", "7SEND_B1"),
    "wrong microbatch sent": _rename(r"0SEND_F1", "0SEND_F0"),
    "message where the pipeline ends": lambda rows: [["0RECV_F0", *rows[0]], *rows[1:]],
    "message between stages of a rank": lambda rows: _behind(rows, r"1F0", "1SEND_F0") if _same_rank(rows, 1, 2) else None,
    "REDUCE_GRAD dropped": _drop(r"\d+REDUCE_GRAD"),
    "REDUCE_GRAD and its wait dropped": lambda rows: _drop(r"0WAIT_REDUCE_GRAD")(_drop(r"0REDUCE_GRAD")(rows)),
    "REDUCE_GRAD twice": lambda rows: _again(rows, "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD"),
    "REDUCE_GRAD early": lambda rows: _early(rows, "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD"),
    "WAIT_REDUCE_GRAD dropped": _drop(r"\d+WAIT_REDUCE_GRAD"),
    "WAIT_REDUCE_GRAD twice": _double(r"\d+WAIT_REDUCE_GRAD"),
    "WAIT_REDUCE_GRAD first": _move(r"\d+WAIT_REDUCE_GRAD", "first"),
    "WAIT_SEND_F dropped": _drop(r"\d+WAIT_SEND_F0"),
    "WAIT_SEND_B dropped": _drop(r"\d+WAIT_SEND_B0"),
    "WAIT_SEND_F twice": _double(r"\d+WAIT_SEND_F0"),
    "WAIT_SEND_F before its SEND_F": _move(r"\d+WAIT_SEND_F0", "first"),
    "WAIT_SEND_F right behind its SEND_F": lambda rows: _behind(_drop(r"0WAIT_SEND_F0")(rows), r"0SEND_F0", "0WAIT_SEND_F0"),
    "WAIT_SEND_F last": _move(r"\d+WAIT_SEND_F0", "last"),
    "UNSHARD dropped": _drop(r"\d+UNSHARD"),
    "UNSHARD twice": _double(r"\d+UNSHARD"),
    "RESHARD dropped": _drop(r"\d+RESHARD"),
    "RESHARD twice": _double(r"\d+RESHARD"),
    "RESHARD early": _move(r"\d+RESHARD", -3),
    "F twice": _double(r"0F0"),
    "F of an inner stage twice": _double(r"1F0"),
    "B or I twice": _double(r"1[BI]0"),
    "F dropped": _drop(r"1F1"),
    "B or I dropped": _drop(r"1[BI]1"),
    "W dropped": _drop(r"1W1"),
    "last stage's forwards swapped": _last_swapped("F"),
    "a blank": lambda rows: [["", *rows[0]], *rows[1:]],
    "a rank's row lost": lambda rows: rows[:-1] if len(rows) > 2 else None,
    "unchanged": _copy,
}


def _same_rank(rows, one, other):
    return any(_find([row], rf"{one}F0") and _find([row], rf"{other}F0") for row in rows)


def _behind(rows, pattern, cell):
    at = _find(rows, pattern) if rows else None
    if at is None:
        return None
    out = _copy(rows)
    out[at[0]].insert(at[1] + 1, cell)
    return out


def _again(rows, *cells):
    at = _find(rows, cells[-1])
    if at is None:
        return None
    out = _copy(rows)
    out[at[0]][at[1] + 1:at[1] + 1] = cells
    return out


def _early(rows, *cells):
    """Before the last computation of their stage."""
    out = [[cell for cell in row if cell not in cells] for row in rows]
    stage = re.match(r"\d+", cells[0])[0]
    at = _find(out, rf"{stage}[BW]\d+", -1)
    if at is None:
        return None
    out[at[0]][at[1]:at[1]] = cells
    return out


def variants(rows, lowered):
    for kind, make in (LOWERED if lowered else COMPUTE).items():
        changed = make(rows)
        if changed is not None:
            yield kind, changed
