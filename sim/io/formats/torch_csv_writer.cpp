// The writing half of torch_csv.hpp.

#include <fmt/format.h>

#include <ostream>

#include <pipeloom/error.hpp>
#include "sim/io/formats/torch_csv.hpp"
#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {
namespace {

void require_text(Action action) {
  if (action.is_sliced() || (is_op(action.kind()) && action.kind() > ActionKind::BackwardWeight))
    throw InputError(
        fmt::format("PyTorch's schedule files have no text for {}: they know F, B, I and W of whole "
                    "microbatches; write another format",
                    to_text(action)));
}

/// A group is one F and one B, the F first.
void write_group(TextWriter& out, std::span<const Action> parts) {
  const bool forward_first = parts[0].kind() == ActionKind::Forward;
  const Action f = forward_first ? parts[0] : parts[1];
  const Action b = forward_first ? parts[1] : parts[0];
  if (parts.size() != 2 || f.kind() != ActionKind::Forward || b.kind() != ActionKind::Backward)
    throw InputError(fmt::format(
        "PyTorch's schedule files have no text for the group that begins with {}: only one F and one B "
        "overlap there; write another format",
        to_text(parts[0])));
  out << '(' << f << ';' << b << ")OVERLAP_F_B";
}

void write_cell(TextWriter& out, std::span<const Action> parts) {
  for (const Action part : parts) require_text(part);
  if (parts.size() == 1)
    out << parts[0];
  else
    write_group(out, parts);
}

}  // namespace

void write_torch_actions(std::ostream& stream, const ActionLists& lists) {
  TextWriter out(stream);
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    const auto row = lists.row(rank);
    if (row.size() == 1 && row[0].is_idle()) out << "\"\"";
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      if (first > 0) out << ',';
      write_cell(out, row.subspan(first, last - first));
    });
    out << "\r\n";
  }
  out.flush();
}

void write_torch_csv(std::ostream& stream, const Schedule& schedule, const IdleCells* blanks) {
  write_torch_actions(stream, to_actions(schedule, blanks));
}

}  // namespace pipeloom::io
