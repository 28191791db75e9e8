// Commands about the result of a sweep.

#include <charconv>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/panels/sweep_model.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

void change(Session& session, std::string SweepQuestion::*field, std::string_view text) {
  auto& model = session.part<SweepModel>();
  SweepQuestion question = model.asked();
  question.*field = std::string(text);
  model.ask(session, question);
}

}  // namespace

void sweep_x(Session& session, std::string_view text) {
  change(session, &SweepQuestion::x, text);
}

void sweep_y(Session& session, std::string_view text) {
  change(session, &SweepQuestion::y, text);
}

void sweep_colour(Session& session, std::string_view text) {
  change(session, &SweepQuestion::colour, text);
}

void sweep_where(Session& session, std::string_view text) {
  change(session, &SweepQuestion::where, text);
}

void sweep_map_x(Session& session, std::string_view text) {
  change(session, &SweepQuestion::map_x, text);
}

void sweep_map_y(Session& session, std::string_view text) {
  change(session, &SweepQuestion::map_y, text);
}

void sweep_winner(Session& session, std::string_view text) {
  change(session, &SweepQuestion::winner, text);
}

void toggle_sweep_map(Session& session, std::string_view) {
  auto& model = session.part<SweepModel>();
  model.show_map(!model.shows_map());
}

void sweep_point(Session& session, std::string_view text) {
  std::uint64_t point = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), point);
  if (error != std::errc{} || end != text.data() + text.size())
    throw InputError(Where{"sweep-point"},
                     "found '" + shortened(text, 40) + "'; allowed is the number of a point, from 0");
  session.part<SweepModel>().open_point(session, point);
}

void close_sweep(Session& session, std::string_view) {
  session.part<SweepModel>().close(session);
}

}  // namespace pipeloom::gui::commands
