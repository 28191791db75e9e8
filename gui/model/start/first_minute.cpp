#include "gui/model/start/first_minute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::array kFirstSteps = {
    FirstStep{"open", "Open a file or trace", "open-dialog", "",
              "Configurations, schedules, timelines, traces of real runs and results of sweeps (Ctrl+O)"},
    FirstStep{"model", "Choose a model", "model-sheet", "",
              "A named model on a number of devices, and which schedules fit"},
    FirstStep{"examples", "Examples", "preset", "PRESET", "The ready configurations that come with it"},
    FirstStep{"tour", "Tour", "tour", "", "Points at eight things, one after the other"}};

/// True if the example is alone on screen, as it came up.
bool shows_example(Session& session) {
  const auto& config = session.part<ConfigModel>();
  return config.is_example() && session.runs.size() == 1 && session.runs[0].live &&
         session.runs[0].run->id == config.shown_run();
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

}  // namespace

std::span<const FirstStep> first_steps() {
  return kFirstSteps;
}

void FirstMinute::take(Session& session, std::size_t step) {
  const FirstStep& chosen = kFirstSteps.at(step);
  if (*chosen.argument == '\0')
    run_command(session, chosen.command);
  else
    session.part<PaletteModel>().ask(session, chosen.command);
}

bool FirstMinute::update(Session& session) {
  std::string sentence;
  if (shows_example(session)) {
    const auto& config = session.part<ConfigModel>();
    sentence = fmt::format("A step of {} on {} ranks. Change a number, or:", upper(config.value("schedule")),
                           config.value("ranks"));
  }
  return std::exchange(sentence_, sentence) != sentence;
}

void FirstMinute::write_state(const Session&, io::JsonWriter& out) const {
  sentence_.empty() ? out.null() : out.text(sentence_);
}

}  // namespace pipeloom::gui
