#include "sim/io/torch_csv.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "sim/io/queue_reader.hpp"
#include "sim/io/text_writer.hpp"

namespace pipeloom::io {
namespace {

constexpr std::string_view kGroupSuffix = "OVERLAP_F_B";
constexpr std::string_view kBlank = " \t\r\f\v";
constexpr std::size_t kMaxWarnings = 20;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::optional<OpKind> kind_of(char letter) {
  for (const OpKind kind : kAllOpKinds)
    if (letter_of(kind) == letter) return kind;
  return std::nullopt;
}

/// Reads the cells of one file.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name)
      : rest_(text), where_{name, 0, 0}, queues_(Where{name, 1, 1}) {}

  TorchCsv read() {
    if (rest_.substr(0, 3) == "\xEF\xBB\xBF") rest_.remove_prefix(3);
    while (!rest_.empty()) {
      const auto end = std::min(rest_.find('\n'), rest_.size());
      ++where_.line;
      read_row(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    if (queues_.ranks() == 0)
      throw InputError(Where{where_.file}, "the file is empty; a schedule has one line of ops per rank");
    if (dropped_ > 0)
      warnings_.push_back(fmt::format("{}: {} more warnings of this kind", where_.file, dropped_));
    return {queues_.build(queues_.infer()), std::move(warnings_)};
  }

 private:
  void read_row(std::string_view row) {
    queues_.begin_rank();
    const char* const begin = row.data();
    for (;;) {
      const auto comma = std::min(row.find(','), row.size());
      where_.column = static_cast<int>(row.data() - begin) + 1;
      read_cell(row.substr(0, comma));
      if (comma == row.size()) return;
      row.remove_prefix(comma + 1);
    }
  }

  void read_cell(std::string_view cell) {
    std::string_view text = trimmed(cell);
    // Python's writer quotes a row of a single blank; its reader takes quotes anywhere.
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
      text = trimmed(text.substr(1, text.size() - 2));
    if (text.empty()) return;
    if (text.size() != cell.size() && cell.find_first_of(" \t") != std::string_view::npos)
      warn("spaces", text);
    std::vector<Op> ops;
    if (text.front() == '(')
      ops = read_group(text);
    else
      ops.push_back(read_op(text));
    queues_.add(ops, where_);
  }

  std::vector<Op> read_group(std::string_view cell) {
    const auto close = cell.find(')');
    if (close == std::string_view::npos) fail(cell, "has no closing parenthesis");
    if (cell.substr(close + 1) != kGroupSuffix) fail(cell, "is no group that ends in )OVERLAP_F_B");
    std::vector<Op> ops;
    for (std::string_view inner = cell.substr(1, close - 1);;) {
      const auto semicolon = std::min(inner.find(';'), inner.size());
      const std::string_view part = trimmed(inner.substr(0, semicolon));
      if (part.empty())
        warn("an empty part", cell);
      else
        ops.push_back(read_op(part));
      if (semicolon == inner.size()) break;
      inner.remove_prefix(semicolon + 1);
    }
    if (ops.empty()) fail(cell, "is a group without ops");
    return ops;
  }

  /// Like PyTorch: digits, a letter, digits, and whatever follows is ignored; but we say so.
  Op read_op(std::string_view cell) {
    std::string_view text = cell;
    const auto stage = take_digits(text);
    if (stage.empty() || text.empty()) fail(cell, "is no op");
    refuse_other_actions(cell, text);
    const auto kind = kind_of(text.front());
    if (!kind) fail(cell, "is no op");
    text.remove_prefix(1);
    const auto microbatch = take_digits(text);
    if (microbatch.empty()) fail(cell, "has no microbatch");
    if (!text.empty()) warn(fmt::format("'{}' after the op", shortened(text, 20)), cell);
    return {*kind, Stage(number_of(stage, cell)), Microbatch(number_of(microbatch, cell))};
  }

  void refuse_other_actions(std::string_view cell, std::string_view action) {
    if (action.starts_with("BW"))
      fail(cell,
           "uses the letters of PyTorch before 2025, where BW was the whole backward and B its input part: "
           "write B for BW and I for B");
    for (const char* other : {"SEND_", "RECV_", "UNSHARD", "RESHARD", "REDUCE_GRAD"})
      if (action.starts_with(other))
        fail(cell,
             "is a communication action of PyTorch's lowered form (compute_comms); only the compute form is "
             "read");
  }

  std::int32_t number_of(std::string_view digits, std::string_view cell) {
    if (digits.size() > 1 && digits.front() == '0') warn("leading zeros", cell);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || value >= kMaxIndex)
      throw InputError(
          where_, fmt::format("'{}' has a number of {} or more; stages and microbatches must be below that",
                              shortened(cell, 60), kMaxIndex));
    return value;
  }

  [[noreturn]] void fail(std::string_view cell, std::string_view why) const {
    throw InputError(
        where_,
        fmt::format("'{}' {}; write <stage><F|B|I|W><microbatch>, such as 2F0, or (0F1;1B0)OVERLAP_F_B",
                    shortened(cell, 60), why));
  }

  void warn(std::string_view what, std::string_view cell) {
    if (warnings_.size() >= kMaxWarnings)
      ++dropped_;
    else
      warnings_.push_back(fmt::format("{}: ignored {} in '{}'", where_.text(), what, shortened(cell, 60)));
  }

  std::string_view rest_;
  Where where_;
  QueueReader queues_;
  std::vector<std::string> warnings_;
  std::size_t dropped_ = 0;
};

void write_entry(TextWriter& out, std::span<const Op> ops) {
  if (ops.size() == 1) {
    out << ops[0];
    return;
  }
  const bool forward_first = ops[0].kind() == OpKind::Forward;
  const Op f = forward_first ? ops[0] : ops[1];
  const Op b = forward_first ? ops[1] : ops[0];
  if (ops.size() != 2 || f.kind() != OpKind::Forward || b.kind() != OpKind::Backward)
    throw InputError(fmt::format(
        "PyTorch's schedule files have no text for the group that begins with {}: only one F and one B "
        "overlap there; write another format",
        to_text(ops[0])));
  out << '(' << f << ';' << b << ')' << kGroupSuffix;
}

}  // namespace

TorchCsv read_torch_csv(std::string_view text, const std::string& name) {
  return CsvReader(text, name).read();
}

void write_torch_csv(std::ostream& stream, const Schedule& schedule) {
  TextWriter out(stream);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const std::size_t begin = schedule.queue_begin(rank);
    for_each_entry(schedule, begin, schedule.queue_end(rank), [&](std::size_t first, std::size_t last) {
      if (first > begin) out << ',';
      write_entry(out, schedule.ops().subspan(first, last - first));
    });
    out << "\r\n";
  }
  out.flush();
}

bool looks_like_torch_csv(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n,\"(\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  text.remove_prefix(first);
  const auto stage = take_digits(text);
  return !stage.empty() && stage.size() < 8 && !text.empty() && kind_of(text.front()).has_value();
}

}  // namespace pipeloom::io
