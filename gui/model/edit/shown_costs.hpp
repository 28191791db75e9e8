#pragma once

// Durations of ops that hold only together: the defaults of all kinds hold where no kind has a duration of its own. So an edit of one of them
// writes the others, which their fields show.

#include <string>

#include <pipeloom/op.hpp>
#include "study/run/assignments.hpp"

namespace pipeloom::gui {

/// `next` is `before` with another value of `path`. If that is the first duration that is given, those of the other `kinds` are set to the
/// defaults that held until now.
[[nodiscard]] study::Assignments with_shown_costs(const study::Assignments& before, study::Assignments next,
                                                  const std::string& path, KindSet kinds);

/// `assignments` without `path`. A duration that does not follow from those that are left is set to its default; where all that are left are at
/// their defaults, none is given any more.
[[nodiscard]] study::Assignments without_key(study::Assignments assignments, const std::string& path);

/// The duration that a kind of op has in a configuration that gives none: "2" for costs.backward. "" for other keys, and where durations are given.
[[nodiscard]] std::string default_cost(const study::Assignments& assignments, const std::string& path);

}  // namespace pipeloom::gui
