#pragma once

// Overlapped groups whose parts ran one after the other, as PyTorch's runtime runs them: each part waits for its own message, and all messages of the
// group leave when the last part has ended.

#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "study/explain/model.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::calibrate {

/// The same run without groups whose parts ran one after the other: their ops are entries of their own. Groups that ran at once stay.
[[nodiscard]] Timeline with_parts_apart(const Timeline& timeline);

/// `wiring` is of with_parts_apart() of a run of `grouped`, `steps` its times. Messages of a part leave with those of the last part of its group from then
/// on, unless one arrived before that had ended: then every part sends its own.
void send_after_groups(const Schedule& grouped, const std::vector<explain::MeasuredStep>& steps,
                       explain::Wiring& wiring);

}  // namespace pipeloom::study::calibrate
