#include "gui/script_parts.hpp"

#include <cstdlib>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

InputEvent key_event(Key key, bool down) {
  InputEvent event;
  event.type = down ? InputEvent::Type::KeyDown : InputEvent::Type::KeyUp;
  event.key = key;
  return event;
}

InputEvent button_event(MouseButton button, bool down) {
  InputEvent event;
  event.type = down ? InputEvent::Type::ButtonDown : InputEvent::Type::ButtonUp;
  event.button = button;
  return event;
}

InputEvent move_event(float x, float y) {
  InputEvent event;
  event.type = InputEvent::Type::MouseMove;
  event.x = x;
  event.y = y;
  return event;
}

InputEvent wheel_event(float steps) {
  InputEvent event;
  event.type = InputEvent::Type::Wheel;
  event.y = steps;
  return event;
}

InputEvent character_event(std::uint32_t character) {
  InputEvent event;
  event.type = InputEvent::Type::Character;
  event.character = character;
  return event;
}

std::vector<std::uint32_t> code_points(const std::string& text) {
  std::vector<std::uint32_t> out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out.push_back(byte);
    else if (byte >= 0xF0)
      out.push_back(byte & 0x07U);
    else if (byte >= 0xE0)
      out.push_back(byte & 0x0FU);
    else if (byte >= 0xC0)
      out.push_back(byte & 0x1FU);
    else if (!out.empty())
      out.back() = out.back() << 6U | (byte & 0x3FU);
  }
  return out;
}

std::string expanded(const Where& where, std::string text) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    const std::string name = text.substr(at + 2, end - at - 2);
    const char* value = std::getenv(name.c_str());
    if (value == nullptr)
      throw InputError(where,
                       "found ${" + shortened(name, 40) + "}, which the environment does not have; set it");
    text.replace(at, end + 1 - at, value);
    at += std::char_traits<char>::length(value);
  }
  return text;
}

std::filesystem::path output_path(const std::string& name) {
  const char* folder = std::getenv("PIPELOOM_OUT");
  std::filesystem::path path =
      folder == nullptr ? std::filesystem::path(name) : std::filesystem::path(folder) / name;
  std::error_code ignored;  // the later write reports the error
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  return path;
}

namespace {

std::optional<ItemRect> rect_of(const std::optional<Box>& box) {
  if (!box) return std::nullopt;
  return ItemRect{static_cast<float>(box->x0), static_cast<float>(box->y0), static_cast<float>(box->x1),
                  static_cast<float>(box->y1)};
}

/// Returns the rest of `text` after `prefix`; nullopt if it begins otherwise.
std::optional<std::string_view> after_prefix(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

/// The name of a rank of the run, left of its buttons.
std::optional<Box> name_box(const ChartLayout& layout, const RunModel& run, std::string_view text) {
  const auto rank = count_in(text);
  const ChartRow* const row = rank ? layout.row_of(run.id, Rank(*rank)) : nullptr;
  if (row == nullptr || !layout.is_visible(*row)) return std::nullopt;
  const Box& headers = layout.headers;
  return Box{headers.x0, row->all.y, (headers.x0 + headers.x1) / 2, row->all.bottom()};
}

/// "1/1F1" of a run that hangs, if it is outlined.
std::optional<Box> waiting_named(const ChartLayout& layout, const RunModel& run, std::string_view text) {
  const std::size_t slash = text.find('/');
  if (!run.hang || slash == std::string_view::npos) return std::nullopt;
  const auto rank = count_in(text.substr(0, slash));
  const auto op = parse_op(text.substr(slash + 1));
  return rank && op ? layout.rect_of_waiting(run.id, Rank(*rank), *op) : std::nullopt;
}

}  // namespace

std::optional<ItemRect> resolve_target(Ui& ui, std::string_view target) {
  const ChartLayout& layout = ui.session.part<ChartPart>().layout;
  if (const auto letter = after_prefix("legend:", target)) {
    for (const LegendEntry& entry : layout.entries)
      if (letter->size() == 1 && letter->front() == letter_of(entry.kind)) return rect_of(entry.box);
    return std::nullopt;
  }
  const RunModel* const run = ui.session.active_run();
  if (run == nullptr) return std::nullopt;
  // An op that a hanging run does not reach is its outline.
  if (const auto op = after_prefix("op:", target))
    if (const auto waiting = waiting_named(layout, *run, *op)) return rect_of(waiting);
  if (const auto op = after_prefix("op:", target))
    return rect_of(layout.rect_of(OpRef{run->id, find_op(*run, *op)}));
  if (const auto gap = after_prefix("gap:", target)) return rect_of(layout.rect_of(find_gap(*run, *gap)));
  if (const auto rank = after_prefix("rank:", target)) return rect_of(name_box(layout, *run, *rank));
  return std::nullopt;
}

}  // namespace pipeloom::gui
