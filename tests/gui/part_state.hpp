#pragma once

// What a part says in the state dump, on one line.

#include <string>

#include "gui/model/session/part.hpp"

namespace pipeloom::gui {

[[nodiscard]] inline std::string state_of(const Part& part, const Session& session) {
  return io::written_json(io::kPackedStyle, [&](io::JsonWriter& out) { part.write_state(session, out); });
}

}  // namespace pipeloom::gui
