#pragma once

// PyTorch's schedule files: row i is rank i, cells in execution order, comma separated, no header.
//
//   compute_only    `<stage><F|B|I|W><microbatch>`, `(<cell>;<cell>)OVERLAP_F_B`, or empty: a blank that PyTorch drew and its runtime drops
//   compute_comms   also `<stage><SEND_F|RECV_F|SEND_B|RECV_B><microbatch>`, `<stage><UNSHARD|RESHARD|REDUCE_GRAD>`, since 2.15
//                   `<stage><WAIT_SEND_F|WAIT_SEND_B><microbatch>`, `<stage>WAIT_REDUCE_GRAD`; no blanks
//
// Reading is as lenient as PyTorch's parser, with a warning for everything it passes over: blanks around a cell, leading zeros, text
// after the number, an empty part of a group, a number after UNSHARD. Writing is strict: no blank that was not drawn, CR LF line ends,
// `""` for a row that is one blank cell, as Python's csv module writes.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/actions.hpp"
#include "sim/torch/verdict.hpp"

namespace pipeloom::io {

/// The result of PyTorch's parser for a file.
struct TorchActions {
  /// Every cell, blank ones included; a computation or message may lack its microbatch ("0F" parses).
  ActionLists lists;
  /// "file:line:column: ..." for each leniency, at most twenty of them.
  std::vector<std::string> warnings;
};

/// Reads a file of either form. `name` is the file's name in messages. Throws InputError (file:line:column) where PyTorch's
/// parser raises, for numbers that are too large and for more than 2^25 blank cells.
[[nodiscard]] TorchActions read_torch_actions(std::string_view text, const std::string& name);

struct TorchCsv {
  Schedule schedule;
  /// Blanks before each entry, as read.
  IdleCells idle_cells;
  /// All actions. Of the form compute_comms only; else empty.
  ActionLists actions;
  std::vector<std::string> warnings;
};

/// Reads the form compute_only. Throws InputError as read_torch_actions() does, and for texts that parse but are no schedule: an op without a
/// microbatch, communication actions, the letters of 2024 (`BW`).
[[nodiscard]] TorchCsv read_torch_csv(std::string_view text, const std::string& name);
/// Reads the form compute_comms: the schedule is its computations. Throws the same, but takes communication.
[[nodiscard]] TorchCsv read_torch_comms(std::string_view text, const std::string& name);

/// Every cell that the reader of this form refuses, at most a thousand of them, in the order of the file. Nothing else: a file whose cells
/// are all right may still be refused.
[[nodiscard]] std::vector<InputError> torch_cell_errors(std::string_view text, const std::string& name,
                                                        torch::Form form);

/// PyTorch's verdict on the file when it loads it into `run`; without one, into the run that the file suggests. Phase "parse" is a cell that
/// its parser raises on. Throws InputError only where no reader could go on: an empty file, numbers that are too large.
[[nodiscard]] torch::Verdict torch_verdict(std::string_view text, const std::string& name, torch::Form form,
                                           std::optional<torch::LoadingRun> run = {});

/// The form compute_only, with these blanks if any are given. REQUIRES: *blanks fits the schedule.
/// Throws InputError for schedules that PyTorch has no text for: groups that are not one F and one B, recomputation, offload, slices.
void write_torch_csv(std::ostream& out, const Schedule& schedule, const IdleCells* blanks = nullptr);
/// Any rows as they are; the same errors.
void write_torch_actions(std::ostream& out, const ActionLists& lists);

/// Could this be such a file? Looks at the first cell only.
[[nodiscard]] bool looks_like_torch_csv(std::string_view text);
/// And has it an action that is no computation?
[[nodiscard]] bool looks_like_torch_comms(std::string_view text);

}  // namespace pipeloom::io
