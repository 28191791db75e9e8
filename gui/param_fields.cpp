#include "gui/param_fields.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "gui/model/edit/param_words.hpp"
#include "gui/model/edit/shown_costs.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui {
namespace {

/// The field's share of the panel's width.
constexpr float kFieldShare = 0.46F;
/// Room for a sign before a field, at scale 1.
constexpr float kSign = 16;
/// Room below a field for its knob, or for the reason why its value is refused, at scale 1.
constexpr float kBelowField = 13;
/// The column of stages' numbers in a table, at scale 1.
constexpr float kStageColumn = 48;

ConfigModel& config(Ui& ui) {
  return ui.session.part<ConfigModel>();
}

/// Through the command, so that a refusal becomes the message.
void assign(Ui& ui, std::string_view path, const std::string& value) {
  if (value.empty())
    run_command(ui.session, "reset", path);
  else
    run_command(ui.session, "set", fmt::format("{} {}", path, value));
}

std::string field_id(const io::Key& key) {
  return "params/" + std::string(key.path);
}

/// An array per stage, and no single value.
bool is_table(const std::string& value) {
  return value.starts_with('[');
}

/// The default of a key as a value; "default" where it is a rule in words.
std::string default_word(const io::Key& key) {
  const std::string text(key.default_text);
  return text.find(' ') == std::string::npos ? text : "default";
}

/// A number that was not typed, with the four digits that count; counts and words as they are.
std::string four_digits(const std::string& text) {
  const auto number = text.find('.') == std::string::npos ? std::nullopt : number_in<double>(text);
  const std::string shorter = number ? fmt::format("{:.4g}", *number) : text;
  return shorter.size() < text.size() ? shorter : text;
}

/// The look of a key's field: the value that is set, of a table the least and the most, else in the quieter colour the value that the run has, else
/// the default.
FieldLook look_of(Ui& ui, const io::Key& key) {
  const std::string set = config(ui).value(std::string(key.path));
  const RunModel* run = live_run(ui.session);
  const bool of_stages = key.type == io::KeyType::TimeTable || key.type == io::KeyType::BytesTable;
  std::string value = of_stages && is_table(set) ? summary_of_table(set) : set;
  if (value.empty()) value = ui.session.part<HeldValues>().of(key, run);
  if (value.empty() && set.empty()) value = default_cost(config(ui).assignments(), std::string(key.path));
  if (value.empty()) value = set.empty() ? default_word(key) : set;
  std::string unit = config(ui).value("costs.time_unit");
  if (unit.empty()) unit = ui.session.part<HeldValues>().of(*io::find_config_key("costs.time_unit"), run);
  ShownValue shown = shown_of(key, value, unit.empty() ? "unit" : unit);
  if (set.empty()) shown.text = four_digits(shown.text);
  return {std::move(shown.text), std::move(shown.unit), set.empty(), config(ui).refusal_of(key) != nullptr};
}

void draw_choice(Ui& ui, const io::Key& key, const std::vector<std::string>& values,
                 const std::string& help) {
  std::vector<std::string> entries = {
      key.default_text.empty() ? "default" : fmt::format("default ({})", key.default_text)};
  entries.insert(entries.end(), values.begin(), values.end());
  const std::string now = config(ui).value(std::string(key.path));
  int chosen = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] == now) chosen = static_cast<int>(i) + 1;
  if (value_choice(ui, field_id(key), entries, chosen, look_of(ui, key), help))
    assign(ui, key.path, chosen == 0 ? "" : values[static_cast<std::size_t>(chosen) - 1]);
}

void draw_text(Ui& ui, const std::string& id, const io::Key& key, const std::string& help) {
  const std::string now = config(ui).value(std::string(key.path));
  std::string text = now;
  if (value_field(ui, id, text, look_of(ui, key), help) && text != now) assign(ui, key.path, text);
}

/// Up to where the knobs of the shape go; larger numbers are typed.
int end_of_knob(const io::Key& key) {
  return key.path == "ranks" ? 256 : key.path == "microbatches" ? 1024 : 0;
}

/// Below its field: the same number by hand, as far to double it anywhere.
void draw_knob(Ui& ui, const io::Key& key) {
  const int value = number_in<int>(look_of(ui, key).shown).value_or(1);
  const double most = std::log(static_cast<double>(end_of_knob(key)));
  double share = std::log(static_cast<double>(std::max(value, 1))) / most;
  if (!knob(ui, field_id(key) + "/knob", share, "Drag: the picture follows")) return;
  const auto wanted = static_cast<int>(std::lround(std::exp(share * most)));
  if (wanted != value) assign(ui, key.path, std::to_string(wanted));
}

/// Assigns a count that was typed. A key without a default keeps its value where the text was removed.
void assign_count(Ui& ui, const io::Key& key, const std::string& text) {
  const bool removed = text.find_first_not_of(' ') == std::string::npos;
  if (removed && key.default_text.empty()) return;
  if (text != config(ui).value(std::string(key.path))) assign(ui, key.path, removed ? "" : text);
}

void draw_count(Ui& ui, const io::Key& key, const std::string& help) {
  const FieldLook look = look_of(ui, key);
  const auto count = number_in<int>(look.shown);
  const auto least = static_cast<int>(key.minimum);
  const auto most = static_cast<int>(key.maximum);
  std::string text = look.shown;
  const CountChange change =
      count_field(ui, field_id(key), text, look, count && *count > least, count && *count < most, help);
  if (change == CountChange::Typed) assign_count(ui, key, text);
  if (change != CountChange::Less && change != CountChange::More) return;
  const int by = change == CountChange::More ? 1 : -1;
  const int next = next_taken(config(ui).assignments(), std::string(key.path), *count, by, least, most);
  assign(ui, key.path, std::to_string(next));
}

/// An element of an array as people type it: 1.5, 23.6ms.
std::string plain(std::string element) {
  std::erase_if(element, [](char c) { return c == '[' || c == ']' || c == '"'; });
  while (element.starts_with(' ')) element.erase(0, 1);
  return element;
}

/// The values of a key's table, as its rows show them.
class StageTable {
 public:
  StageTable(Ui& ui, const io::Key& key, int stages) : ui_(ui), key_(key), stages_(stages) {
    elements_ = split(config(ui).value(std::string(key.path)), ',');
    if (elements_.back().empty()) elements_.pop_back();
    for (std::string& element : elements_) element = plain(std::move(element));
    for (const std::string& element : elements_) numbers_.push_back(number_of(element));
    if (!numbers_.empty()) most_ = *std::ranges::max_element(numbers_);
    unit_ = look_of(ui, key).unit;
    if (unit_ == "units") unit_ = "unit";
  }

  /// A head, and a row for each stage; only rows in view are drawn.
  void draw() {
    draw_row_text("stage", "value");
    ImGuiListClipper clipper;
    clipper.Begin(stages_, ImGui::GetFrameHeightWithSpacing());
    while (clipper.Step())
      for (int stage = clipper.DisplayStart; stage < clipper.DisplayEnd; ++stage) draw_row(stage);
  }

 private:
  [[nodiscard]] double number_of(const std::string& element) const {
    return number_in<double>(shown_of(key_, element, "").text).value_or(0);
  }

  void draw_row_text(const char* stage, const char* value) {
    const float right = ImGui::GetContentRegionAvail().x;
    ImGui::PushFont(ui_.skin.small);
    muted_text(ui_, stage);
    ImGui::SameLine(right - ImGui::CalcTextSize(value).x - ImGui::GetStyle().FramePadding.x);
    muted_text(ui_, value);
    ImGui::PopFont();
  }

  /// The number of the stage, and its value with a bar across the field: the longest is the largest value's.
  void draw_row(int stage) {
    const auto at = static_cast<std::size_t>(stage);
    const std::string path = fmt::format("{}.{}", key_.path, stage);
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::AlignTextToFramePadding();
    muted_text(ui_, std::to_string(stage));
    ImGui::SameLine(kStageColumn * ui_.skin.scale);
    ImGui::SetNextItemWidth(width - kStageColumn * ui_.skin.scale);
    const std::string now = at < elements_.size() ? elements_[at] : "";
    const ShownValue shown = shown_of(key_, now, unit_);
    const double share = at < numbers_.size() && most_ > 0 ? numbers_[at] / most_ : 0;
    std::string text = now;
    const FieldLook look{shown.text, shown.unit, false, false, share};
    if (value_field(ui_, "params/" + path, text, look,
                    fmt::format("{} of stage {}", subject_of(key_), stage)) &&
        !text.empty() && text != now)
      assign(ui_, path, text);
  }

  Ui& ui_;
  const io::Key& key_;
  int stages_;
  std::vector<std::string> elements_;
  std::vector<double> numbers_;
  double most_ = 0;
  std::string unit_;
};

void draw_stage_table(Ui& ui, const io::Key& key, int stages, const std::string& help) {
  draw_text(ui, field_id(key), key, help);
  if (is_table(config(ui).value(std::string(key.path)))) StageTable(ui, key, stages).draw();
}

/// Says how a quantity is typed with its unit; "" for keys that hold none.
std::string_view literal_hint(const io::Key& key) {
  if (key.unit == "time_unit") return ", or typed with one: 23.6ms";
  if (key.unit == "bytes") return ", or typed with one: 80GB, 75GiB";
  if (key.unit == "1e9 bit/s") return ", or typed with one: 400Gbit/s";
  return "";
}

void draw_widget(Ui& ui, const io::Key& key, int stages, const std::string& help) {
  using enum io::KeyType;
  if (key.option == Option::Variant) {
    const auto* generator = generator_of(config(ui).value("schedule"));
    draw_choice(ui, key, generator == nullptr ? std::vector<std::string>() : generator->requirements.variants,
                help);
    return;
  }
  switch (key.type) {
    case Choice:
      return draw_choice(ui, key, split(key.choices, '|'), help);
    case Flag: {
      bool on = config(ui).value(std::string(key.path)) == "true";
      if (checkbox(ui, field_id(key), "", on, help)) assign(ui, key.path, on ? "true" : "");
      return;
    }
    case Count:
    case GroupSize:
      return draw_count(ui, key, help);
    case TimeTable:
    case BytesTable:
      return draw_stage_table(ui, key, stages, help);
    default:
      return draw_text(ui, field_id(key), key, help);
  }
}

/// Draws a key's label. One that is too long for its place is cut, and the help says it.
void draw_label(Ui& ui, const io::Key& key, ImFont* font, float width, const std::string& help) {
  ImGui::PushFont(font);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (ImGui::GetFrameHeight() - font->FontSize) / 2 -
                       ImGui::GetStyle().FramePadding.y);
  ImGui::AlignTextToFramePadding();
  text_item(fitted(label_of(key), width - (help.empty() ? 4 : 2 * kSign) * ui.skin.scale));
  ImGui::PopFont();
  note_item(ui, field_id(key) + "/label");
  explain(help);
}

/// Draws buttons before the field, while the pointer is in the row: back to the default, a value for each stage.
void draw_signs(Ui& ui, const io::Key& key, int stages, bool hovered, float right) {
  const float width = kSign * ui.skin.scale;
  const std::string now = config(ui).value(std::string(key.path));
  const bool is_stages = key.type == io::KeyType::TimeTable || key.type == io::KeyType::BytesTable;
  const bool table = is_table(now);
  float x = right;
  const auto sign = [&](const char* name, Icon icon, const char* help) {
    x -= width;
    ImGui::SetCursorScreenPos(ImVec2(x, ImGui::GetCursorScreenPos().y));
    const bool pressed = sign_button(ui, field_id(key) + name, icon, width, hovered, help);
    ImGui::SameLine(0, 0);
    return pressed;
  };
  if (!now.empty() && !key.default_text.empty() && sign("/reset", Icon::Reset, "Back to the default"))
    assign(ui, key.path, "");
  if (is_stages && sign("/stages", table ? Icon::One : Icon::Many,
                        table ? "One value for all stages" : "A value for each stage")) {
    const auto elements = split(now, ',');
    const std::string first = elements.empty() ? "" : plain(elements.front());
    assign(ui, key.path, table ? first : array_of(now, stages));
  }
  ImGui::SetCursorScreenPos(ImVec2(right, ImGui::GetCursorScreenPos().y));
}

}  // namespace

const RunModel* live_run(const Session& session) {
  for (const OpenRun& open : session.runs)
    if (open.live) return open.run.get();
  return nullptr;
}

std::string help_of(const io::Key& key, const RunModel* run) {
  std::string help = fmt::format("{}: {}", key.path, key.help);
  if (!key.unit.empty()) help += fmt::format("\nunit: {}{}", key.unit, literal_hint(key));
  if (const Dialects* words = dialects_of(key))
    help += fmt::format("\nPyTorch: {}\nMegatron: {}", words->torch, words->megatron);
  if (!key.choices.empty()) help += fmt::format("\none of: {}", key.choices);
  if ((key.type == io::KeyType::Count || key.type == io::KeyType::GroupSize) && key.maximum > 0)
    help += fmt::format("\na whole number from {}", key.minimum);
  if (!key.default_text.empty()) help += fmt::format("\nif left empty: {}", key.default_text);
  if (run != nullptr && run->effective)
    for (const auto& [path, origin] : run->effective->origins)
      if (path == key.path) help += fmt::format("\nnow: {}", origin);
  return help;
}

namespace {

/// True if a value of the key is typed, so that it may be refused.
bool is_typed(const io::Key& key) {
  return key.option != Option::Variant && key.type != io::KeyType::Choice && key.type != io::KeyType::Flag;
}

/// The line under a field: why its value is refused, or who holds more than the limit that it sets. Empty for a value that is fine.
std::string line_below(Ui& ui, const io::Key& key) {
  if (const Refusal* refusal = config(ui).refusal_of(key)) return refusal_line(key, refusal->text);
  const RunModel* run = live_run(ui.session);
  if (key.path != "memory.limit_bytes" || run == nullptr || !run->over_limit || !run->memory) return {};
  const OverLimit& over = *run->over_limit;
  return fmt::format("{}: rank {} holds {}, {} more", subject_of(key), over.rank.value(),
                     memory_cell(*run->memory, over.bytes),
                     memory_cell(*run->memory, over.bytes - over.limit));
}

/// Draws that line, in room that is there without it too, so that nothing moves.
void draw_line_below(Ui& ui, const io::Key& key, const std::string& line, ImVec2 at, float width) {
  ImGui::SetCursorScreenPos(at);
  ImGui::PushFont(ui.skin.small);
  problem_text(ui, fitted(line, width));
  ImGui::PopFont();
  note_item(ui, field_id(key) + "/refusal");
  explain(line);
}

}  // namespace

namespace {

/// Says where a value that is not set comes from: "model"; "" where it is the default.
std::string source_of(Ui& ui, const io::Key& key) {
  const bool follows = !config(ui).is_set(std::string(key.path)) &&
                       ui.session.part<HeldValues>().from_model(key, live_run(ui.session));
  return follows ? "model" : "";
}

/// Draws it in that room, ending below the field's value.
void draw_source(Ui& ui, const io::Key& key, const std::string& source, ImVec2 right) {
  ImGui::PushFont(ui.skin.small);
  const float x = right.x - ImGui::CalcTextSize(source.c_str()).x - ImGui::GetStyle().FramePadding.x;
  ImGui::SetCursorScreenPos(ImVec2(x, right.y));
  muted_text(ui, source);
  ImGui::PopFont();
  note_item(ui, field_id(key) + "/source");
}

/// The letters of a key's label, and the room up to its field: a long label has smaller ones, and a narrower field.
struct LabelRoom {
  ImFont* font = nullptr;
  float left = 0;
};
LabelRoom room_of_label(const Ui& ui, const io::Key& key, float width) {
  constexpr float kNarrowest = 84;
  const float scale = ui.skin.scale;
  const float left = width - std::max(width * kFieldShare, 104 * scale);
  const std::string label = label_of(key);
  const float gap = 4 * scale;
  if (ImGui::CalcTextSize(label.c_str()).x <= left - gap) return {ui.skin.font, left};
  ImFont* const small = ui.skin.small;
  const float needed = small->CalcTextSizeA(small->FontSize, FLT_MAX, 0, label.c_str()).x + gap;
  return {small, std::clamp(needed, left, std::max(left, width - kNarrowest * scale))};
}

}  // namespace

void draw_field(Ui& ui, const io::Key& key, int stages) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const auto [font, left] = room_of_label(ui, key, width);
  const float field = width - left;
  const float frame = ImGui::GetFrameHeight();
  // Help is made only for the row under the pointer: it costs more than the field.
  const bool hovered = ImGui::IsMouseHoveringRect(at, ImVec2(at.x + width, at.y + frame));
  const std::string help = hovered ? help_of(key, live_run(ui.session)) : std::string();
  draw_label(ui, key, font, left, help);
  ImGui::SameLine(left);
  draw_signs(ui, key, stages, hovered, at.x + left);
  ImGui::SetNextItemWidth(field);
  draw_widget(ui, key, stages, help);
  if (!is_typed(key)) return;
  const ImVec2 below(at.x, ImGui::GetCursorScreenPos().y - 3 * ui.skin.scale);
  if (const std::string line = line_below(ui, key); !line.empty()) {
    draw_line_below(ui, key, line, below, width);
  } else if (const std::string source = source_of(ui, key); !source.empty()) {
    draw_source(ui, key, source, ImVec2(at.x + width, below.y));
  } else if (end_of_knob(key) != 0) {
    ImGui::SetCursorScreenPos(ImVec2(at.x + left, below.y));
    ImGui::SetNextItemWidth(field);
    draw_knob(ui, key);
  }
  ImGui::SetCursorScreenPos(ImVec2(at.x, below.y + kBelowField * ui.skin.scale));
}

}  // namespace pipeloom::gui
