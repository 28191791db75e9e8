#pragma once

// Page of text on why a schedule hangs: its last steps, which rank waits for which, and a setting with which it runs.

#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/actions.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::study {

/// "" if the schedule runs. REQUIRES: no structural errors (validate_structure). `everything` shows all ranks and more steps.
[[nodiscard]] std::string hang_page(const Schedule& schedule, bool everything);

/// The same for a lowered file of PyTorch's: "" if its messages meet, or if its microbatches are numbered so sparsely that they need no
/// table. REQUIRES: rank_of_stage covers every stage in the lists.
[[nodiscard]] std::string lowered_hang_page(const ActionLists& lists, const std::vector<Rank>& rank_of_stage,
                                            bool everything);

/// The same for a configuration whose messages hang or mispair under its transfer model.
[[nodiscard]] std::string message_hang_page(const MessageProblem& hang, bool everything);
/// As a member of a report: "message_hang": {"message", "waits", "remedy"}.
void write_message_hang(io::JsonWriter& out, const MessageProblem& hang);

/// A schedule's as a member of a report: "hang": {"entries_done", "waits": [...], "cycle": [...], "moves": [...]}; nothing if it runs.
void write_hang(io::JsonWriter& out, const Schedule& schedule);

}  // namespace pipeloom::study
