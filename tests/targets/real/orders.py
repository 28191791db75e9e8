"""Orders as text: one row per rank, ops as PyTorch's CSV spells them ("4F0", "4I0", "(0F3;4B0)OVERLAP_F_B")."""
import hashlib


def digest(rows):
    """First 16 hex digits of the SHA-256 of the rows: ops joined by one space, rows by one line feed."""
    text = "\n".join(" ".join(row) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stage_of(placement, ranks, rank, chunk):
    """The stage that a rank's chunk is, under placement "loop" or "v" (two chunks)."""
    if placement == "v" and chunk == 1:
        return 2 * ranks - 1 - rank
    return chunk * ranks + rank
