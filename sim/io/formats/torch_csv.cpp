// The writing half of torch_csv.hpp.
// The formats of PyTorch's schedule files.

#include "sim/io/formats/torch_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/queue_reader.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/torch/dry_run.hpp"

namespace pipeloom::io {

namespace {

constexpr std::string_view kGroupSuffix = "OVERLAP_F_B";
constexpr std::string_view kCellBlanks = " \t\r\f\v";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMaxWarnings = 20;
constexpr std::size_t kMaxErrors = 1000;
constexpr std::size_t kMaxBlankCells = std::size_t{1} << 25;

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

/// The first kind that the text begins with, in PyTorch's order, taken off.
std::optional<ActionKind> take_kind(std::string_view& text) {
  for (const auto& [kind, name] : kTorchActions)
    if (text.starts_with(name)) {
      text.remove_prefix(name.size());
      return kind;
    }
  return std::nullopt;
}

/// A cell that is nothing we can use: where only the actions are wanted, one that PyTorch's parser raises on.
class BadCell : public InputError {
 public:
  using InputError::InputError;
};

/// The actions of a file that make a schedule.
enum class Wanted { ActionsOnly, Compute, Comms };

/// Reads the cells of one file.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name, Wanted wanted)
      : rest_(text), where_{name, 0, 0}, wanted_(wanted), queues_(Where{name, 1, 1}) {}

  void read() {
    if (rest_.starts_with(kByteOrderMark)) {
      rest_.remove_prefix(kByteOrderMark.size());
      where_ = {where_.file, 1, 1};
      warn("a byte order mark, which PyTorch refuses,", "");
      where_.line = 0;
    }
    while (!rest_.empty()) {
      const auto end = std::min(rest_.find('\n'), rest_.size());
      ++where_.line;
      read_row(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    if (lists_.ranks() == 0)
      throw InputError(Where{where_.file}, "the file is empty; a schedule has one line of ops per rank");
    if (dropped_ > 0)
      warnings_.push_back(fmt::format("{}: {} more warnings of this kind", where_.file, dropped_));
  }

  /// Reads as read() does, and goes on after cells that are refused.
  std::vector<InputError> read_on() {
    goes_on_ = true;
    read();
    return std::move(errors_);
  }

  TorchActions actions() && { return {std::move(lists_), std::move(warnings_)}; }
  TorchCsv csv() && {
    Schedule schedule = queues_.build(queues_.infer());
    IdleCells blanks = idle_cells(lists_);
    if (wanted_ == Wanted::Compute) lists_ = {};
    return {std::move(schedule), std::move(blanks), std::move(lists_), std::move(warnings_)};
  }

 private:
  void read_row(std::string_view row) {
    if (lists_.ranks() == kMaxIndex)
      throw InputError(
          where_,
          fmt::format("more than {} ranks; at most that many are allowed: leave some out", kMaxIndex));
    lists_.begin_rank();
    if (wanted_ != Wanted::ActionsOnly) queues_.begin_rank();
    const char* const begin = row.data();
    // An empty line is a rank without cells; a lone pair of quotes is one blank cell.
    if (row.empty() || row == "\r") return;
    for (;;) {
      const auto comma = std::min(row.find(','), row.size());
      where_.column = static_cast<int>(row.data() - begin) + 1;
      try_cell(row.substr(0, comma));
      if (comma == row.size()) return;
      row.remove_prefix(comma + 1);
    }
  }

  void try_cell(std::string_view cell) {
    try {
      read_cell(cell);
    } catch (const InputError& error) {
      if (!goes_on_) throw;
      if (errors_.size() < kMaxErrors) errors_.push_back(error);
    }
  }

  void read_cell(std::string_view cell) {
    std::string_view text = trimmed(cell, kCellBlanks);
    // Python's writer quotes a row of a single blank; its reader takes quotes anywhere.
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
      text = trimmed(text.substr(1, text.size() - 2), kCellBlanks);
    if (text.empty()) {
      if (++blank_cells_ > kMaxBlankCells)
        throw InputError(where_, fmt::format("more than {} blank cells; this is no schedule: leave them out",
                                             kMaxBlankCells));
      lists_.add(Action());
      return;
    }
    if (text.size() != cell.size() && cell.find_first_of(" \t") != std::string_view::npos)
      warn("spaces", text);
    parts_.clear();
    if (text.front() == '(' && text.find(')') != std::string_view::npos)
      read_group(text);
    else
      read_action(text);
    lists_.add_cell(parts_);
    if (wanted_ != Wanted::ActionsOnly) queue_ops();
  }

  void read_group(std::string_view cell) {
    const auto close = cell.find(')');
    const std::string_view suffix = cell.substr(close + 1);
    if (suffix != kGroupSuffix) check_other_suffix(cell, suffix);
    for (std::string_view inner = cell.substr(1, close - 1);;) {
      const auto semicolon = std::min(inner.find(';'), inner.size());
      const std::string_view part = trimmed(inner.substr(0, semicolon), kCellBlanks);
      if (part.empty())
        warn("an empty part", cell);
      else
        read_action(part);
      if (semicolon == inner.size()) break;
      inner.remove_prefix(semicolon + 1);
    }
    if (parts_.empty()) fail(cell, "is a group without ops");
  }

  /// PyTorch takes a group of any type and looks at its parts only.
  void check_other_suffix(std::string_view cell, std::string_view suffix) {
    std::string_view rest = suffix;
    const auto kind = take_kind(rest);
    if (!kind || !rest.empty() || !is_op(*kind)) fail(cell, "is no group that ends in )OVERLAP_F_B");
    warn(fmt::format("the type {} of a group, taken as OVERLAP_F_B,", suffix), cell);
  }

  /// Like PyTorch: digits, a type, digits, and the rest is ignored; but with a warning.
  void read_action(std::string_view cell) {
    std::string_view text = cell;
    const auto stage = take_digits(text);
    const auto kind = stage.empty() ? std::nullopt : take_kind(text);
    if (!kind) fail(cell, text.starts_with('(') ? "has no closing parenthesis" : "is no op");
    if (*kind == ActionKind::Backward && text.starts_with('W')) say_old_letters(cell);
    if (wanted_ == Wanted::Compute && !is_op(*kind))
      fail(cell,
           "is a communication action of PyTorch's lowered form (compute_comms), and this file is read as "
           "compute_only; read it as torch-comms");
    const auto microbatch = take_digits(text);
    if (!text.empty()) warn(fmt::format("'{}' after the op", shortened(text, 20)), cell);
    const Stage s(number_of(stage, cell));
    if (is_of_stage(*kind)) {
      if (!microbatch.empty()) warn(fmt::format("the number after {}", name_of(*kind)), cell);
      parts_.emplace_back(*kind, s);
    } else if (!microbatch.empty()) {
      parts_.emplace_back(*kind, s, Microbatch(number_of(microbatch, cell)));
    } else {
      if (wanted_ != Wanted::ActionsOnly) fail(cell, "has no microbatch");
      warn("the missing microbatch", cell);
      parts_.emplace_back(*kind, s);
    }
  }

  void say_old_letters(std::string_view cell) {
    constexpr const char* kWhy =
        "uses the letters of PyTorch before 2025, where BW was the whole backward and B its input part: "
        "write B for BW and I for B";
    const std::string text = fmt::format("'{}' {}", shortened(cell, 60), kWhy);
    if (wanted_ != Wanted::ActionsOnly) throw InputError(where_, text);
    add_warning(where_.text() + ": " + text);
  }

  void queue_ops() {
    ops_.clear();
    for (const Action part : parts_)
      if (is_op(part.kind())) ops_.push_back(part.op());
    if (!ops_.empty()) queues_.add(ops_, where_);
  }

  std::int32_t number_of(std::string_view digits, std::string_view cell) {
    if (digits.size() > 1 && digits.front() == '0') warn("leading zeros", cell);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || value >= kMaxIndex)
      throw InputError(
          where_,
          fmt::format(
              "'{}' has a number of {} or more; stages and microbatches must be below that: correct it",
              shortened(cell, 60), kMaxIndex));
    return value;
  }

  [[noreturn]] void fail(std::string_view cell, std::string_view why) const {
    throw BadCell(
        where_,
        fmt::format("'{}' {}; write <stage><F|B|I|W><microbatch>, such as 2F0, or (0F1;1B0)OVERLAP_F_B",
                    shortened(cell, 60), why));
  }

  void warn(std::string_view what, std::string_view cell) {
    add_warning(cell.empty()
                    ? fmt::format("{}: ignored {} at the beginning", where_.text(), what)
                    : fmt::format("{}: ignored {} in '{}'", where_.text(), what, shortened(cell, 60)));
  }

  void add_warning(std::string line) {
    if (warnings_.size() >= kMaxWarnings)
      ++dropped_;
    else
      warnings_.push_back(std::move(line));
  }

  std::string_view rest_;
  Where where_;
  Wanted wanted_;
  QueueReader queues_;
  ActionLists lists_;
  std::vector<Action> parts_;  // of the cell being read
  std::vector<Op> ops_;        // its computations
  std::vector<std::string> warnings_;
  std::size_t dropped_ = 0;
  std::size_t blank_cells_ = 0;
  bool goes_on_ = false;
  std::vector<InputError> errors_;
};

CsvReader read_all(std::string_view text, const std::string& name, Wanted wanted) {
  CsvReader reader(text, name, wanted);
  reader.read();
  return reader;
}

}  // namespace

TorchActions read_torch_actions(std::string_view text, const std::string& name) {
  return read_all(text, name, Wanted::ActionsOnly).actions();
}

TorchCsv read_torch_csv(std::string_view text, const std::string& name) {
  return read_all(text, name, Wanted::Compute).csv();
}

TorchCsv read_torch_comms(std::string_view text, const std::string& name) {
  return read_all(text, name, Wanted::Comms).csv();
}

std::vector<InputError> torch_cell_errors(std::string_view text, const std::string& name, torch::Form form) {
  try {
    return CsvReader(text, name, form == torch::Form::ComputeOnly ? Wanted::Compute : Wanted::Comms)
        .read_on();
  } catch (const InputError&) {
    return {};
  }
}

torch::Verdict torch_verdict(std::string_view text, const std::string& name, torch::Form form,
                             std::optional<torch::LoadingRun> run) {
  try {
    const ActionLists lists = read_torch_actions(text, name).lists;
    return torch::verdict_of(lists, run.value_or(torch::loading_run(lists, form)));
  } catch (const BadCell& error) {
    torch::Verdict verdict;
    verdict.phase = "parse";
    verdict.exception = "RuntimeError";
    verdict.message = error.where().text() + ": " + error.what();
    return verdict;
  }
}

bool looks_like_torch_csv(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n,\"(\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  text.remove_prefix(first);
  const auto stage = take_digits(text);
  return !stage.empty() && stage.size() < 8 && take_kind(text).has_value();
}

bool looks_like_torch_comms(std::string_view text) {
  if (!looks_like_torch_csv(text)) return false;
  for (const std::string_view part : {"SEND_", "RECV_", "SHARD", "REDUCE_GRAD"})
    if (text.find(part) != std::string_view::npos) return true;
  return false;
}

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

namespace {

Imported imported(TorchCsv csv) {
  Imported out;
  out.schedule = std::make_shared<const Schedule>(std::move(csv.schedule));
  out.warnings = std::move(csv.warnings);
  out.idle_cells = std::make_shared<const IdleCells>(std::move(csv.idle_cells));
  if (csv.actions.ranks() > 0) out.actions = std::make_shared<const ActionLists>(std::move(csv.actions));
  return out;
}

/// The program whose dry run is wanted: the file's own actions; PyTorch's messages placed straight into the drawn order where no
/// release was asked for, since that is what its dry run takes.
ActionLists program_of(const Exported& run, const torch::Homes& homes) {
  if (run.actions != nullptr) return *run.actions;
  if (run.lowering != torch::LowerOptions()) return torch::lower(*run.schedule, run.lowering);
  const ActionLists drawn = to_actions(*run.schedule, run.idle_cells);
  torch::Transfers transfers = torch::add_transfers(drawn, homes);
  if (transfers.stuck)
    throw ScheduleError("the schedule hangs, so it has no steps: " + describe(*transfers.stuck, drawn) +
                        "; `pipeloom validate` says what to move");
  return std::move(transfers.lists);
}

void write_steps(std::ostream& stream, const Exported& run) {
  const torch::Homes homes(*run.schedule);
  const ActionLists program = program_of(run, homes);
  if (!torch::fits(program, homes))
    throw ScheduleError(
        "a message names a stage or microbatch that no computation has, so there are no steps to the end; "
        "`pipeloom validate` names it");
  const torch::DryRun dry = torch::dry_run(program, homes);
  if (dry.stuck)
    throw ScheduleError("the messages deadlock, so there are no steps to the end: " +
                        describe(*dry.stuck, program) + "; `pipeloom validate` says what to move");
  write_torch_actions(stream, dry.grid);
}

}  // namespace

Format torch_compute_format() {
  Format out;
  out.name = "torch-compute";
  out.extensions = {".csv"};
  out.summary = "PyTorch's compute_only schedule file";
  out.read = [](std::string_view text, const std::string& name) {
    return imported(read_torch_csv(text, name));
  };
  out.write = [](std::ostream& stream, const Exported& run) {
    write_torch_csv(stream, *run.schedule, run.idle_cells);
  };
  out.sniff = [](std::string_view text) {
    return looks_like_torch_csv(text) && !looks_like_torch_comms(text);
  };
  return out;
}

Format torch_comms_format() {
  Format out;
  out.name = "torch-comms";
  out.summary = "PyTorch's compute_comms schedule file: lowered for --target";
  out.lowers = true;
  out.read = [](std::string_view text, const std::string& name) {
    return imported(read_torch_comms(text, name));
  };
  out.write = [](std::ostream& stream, const Exported& run) {
    write_torch_actions(stream, run.actions != nullptr ? without_idle(*run.actions)
                                                       : torch::lower(*run.schedule, run.lowering));
  };
  out.sniff = looks_like_torch_comms;
  return out;
}

Format torch_steps_format() {
  Format out;
  out.name = "torch-steps";
  out.summary = "the steps of PyTorch's dry run, one action per rank and step";
  out.lowers = true;
  out.write = write_steps;
  return out;
}

}  // namespace pipeloom::io
