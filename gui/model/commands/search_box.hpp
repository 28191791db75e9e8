#pragma once

// The entries of the search box beside commands: ops, and settings with their fields.

#include <string_view>
#include <vector>

#include "gui/model/session/palette.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A text that is a query of ops is searched for at once, and its entry comes first: it goes to the next match.
void find_op_entries(Session& session, std::string_view typed, std::vector<PaletteEntry>& entries);
/// Fields of the parameters and of Find that match by label, key or help: they get the keyboard.
void find_field_entries(Session& session, std::string_view typed, std::vector<PaletteEntry>& entries);

/// Gives the field "params/ranks" or "find/limit" the keyboard, its panel opened. Throws InputError for one that is not there.
void go_to_field(Session& session, std::string_view field);

}  // namespace pipeloom::gui
