#pragma once

// Parts of scripts: input as a person would make it, texts that are typed, variables of the environment, names of files.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/session/keys.hpp"
#include "gui/ui.hpp"

namespace pipeloom::gui {

[[nodiscard]] InputEvent key_event(Key key, bool down);
[[nodiscard]] InputEvent button_event(MouseButton button, bool down);
/// Pixels of the window.
[[nodiscard]] InputEvent move_event(float x, float y);
/// Steps up.
[[nodiscard]] InputEvent wheel_event(float steps);
[[nodiscard]] InputEvent character_event(std::uint32_t character);

/// The code points of UTF-8; bytes that are none are left out.
[[nodiscard]] std::vector<std::uint32_t> code_points(const std::string& text);

/// Replaces each `${NAME}` by the environment's variable. Throws InputError at `where` for one that is not set.
[[nodiscard]] std::string expanded(const Where& where, std::string text);

/// The path of a script's file: relative names below PIPELOOM_OUT, if that is set. Its folder is made.
[[nodiscard]] std::filesystem::path output_path(const std::string& name);

/// The place of `op:RANK/0F7`, `gap:RANK/N` or `legend:F` of the active run in the frame drawn last. No value if the chart does not show it;
/// nothing is scrolled or zoomed. Throws InputError for an op or gap that the run does not have.
[[nodiscard]] std::optional<ItemRect> resolve_target(Ui& ui, std::string_view target);

}  // namespace pipeloom::gui
