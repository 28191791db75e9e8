// Commands that edit the queues of the active run.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/panels/problems.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

InputError unreadable(const char* command, std::string_view text, const char* wanted) {
  return {Where{command}, fmt::format("found '{}'; allowed is {}", shortened(text, 60), wanted)};
}

/// "2/0F7".
std::pair<Rank, Op> parse_place(const char* command, std::string_view text) {
  const auto slash = text.find('/');
  const auto rank =
      slash == std::string_view::npos ? std::nullopt : number_in<std::size_t>(text.substr(0, slash));
  const auto op = slash == std::string_view::npos ? std::nullopt : parse_op(text.substr(slash + 1));
  if (!rank || *rank >= static_cast<std::size_t>(kMaxIndex) || !op)
    throw unreadable(command, text, "a rank and one of its ops, such as 2/0F7");
  return {Rank(static_cast<std::int32_t>(*rank)), *op};
}

/// The op that the argument names, or else the selected op.
std::pair<Rank, Op> place_or_selected(Session& session, const char* command, std::string_view text) {
  if (text.empty()) return session.part<ScheduleEditor>().selected(session);
  return parse_place(command, text);
}

struct PlaceAndPosition {
  Rank rank;
  Op op;
  std::size_t position = 0;
};

PlaceAndPosition parse_move(const char* command, std::string_view text) {
  const auto blank = text.rfind(' ');
  const auto position =
      blank == std::string_view::npos ? std::nullopt : number_in<std::size_t>(text.substr(blank + 1));
  if (!position) throw unreadable(command, text, "a rank, an op and a position from 0, such as 2/0F7 5");
  const auto [rank, op] = parse_place(command, text.substr(0, blank));
  return {rank, op, *position};
}

}  // namespace

void edit_mode(Session& session, std::string_view) {
  auto& editor = session.part<ScheduleEditor>();
  if (editor.editing()) {
    editor.end();
    session.say("editing is off");
    return;
  }
  editor.begin(session);
  session.preferences.panels["edit"] = true;
  session.say("editing is on: drag an op within its row, Alt + Up and Down move the selected one");
}

void move_op(Session& session, std::string_view text) {
  const auto [rank, op, position] = parse_move("move-op", text);
  session.part<ScheduleEditor>().move(session, rank, op, position);
}

void move_op_earlier(Session& session, std::string_view text) {
  const auto [rank, op] = place_or_selected(session, "move-op-earlier", text);
  session.part<ScheduleEditor>().shift(session, rank, op, -1);
}

void move_op_later(Session& session, std::string_view text) {
  const auto [rank, op] = place_or_selected(session, "move-op-later", text);
  session.part<ScheduleEditor>().shift(session, rank, op, 1);
}

void delete_weight(Session& session, std::string_view text) {
  const auto [rank, op] = place_or_selected(session, "delete-weight", text);
  session.part<ScheduleEditor>().remove_weight(session, rank, op);
}

void insert_weight(Session& session, std::string_view text) {
  const auto [rank, op, position] = parse_move("insert-weight", text);
  session.part<ScheduleEditor>().insert_weight(session, rank, op, position);
}

void split_group(Session& session, std::string_view text) {
  const auto [rank, op] = place_or_selected(session, "split-group", text);
  session.part<ScheduleEditor>().split(session, rank, op);
}

void join_next(Session& session, std::string_view text) {
  const auto [rank, op] = place_or_selected(session, "join-next", text);
  session.part<ScheduleEditor>().join_next(session, rank, op);
}

/// Counted from 1, as the panel lists them; without a number the best. Where none is listed, moves are looked for.
void apply_remedy(Session& session, std::string_view text) {
  auto& editor = session.part<ScheduleEditor>();
  const auto& problems = session.part<Problems>();
  const std::vector<Repair>& repairs = problems.report().repairs;
  if (problems.pending() || repairs.empty()) return editor.apply_remedy(session);
  const auto number = text.empty() ? std::size_t{1} : number_in<std::size_t>(text).value_or(0);
  if (number < 1 || number > repairs.size())
    throw InputError(Where{"apply-remedy"}, fmt::format("'{}' is no repair; name one of 1 to {}",
                                                        shortened(text, 40), repairs.size()));
  editor.apply_moves(session, std::vector<Move>(repairs[number - 1].moves));
}

void save_schedule(Session& session, std::string_view text) {
  const io::Overwrite overwrite = take_force(text);
  const std::string path(text);
  const RunModel* run = session.active_run();
  if (run == nullptr)
    throw InputError(Where{"save-schedule"}, "nothing is open; there is no schedule to save");
  auto& editor = session.part<ScheduleEditor>();
  const QueueSnapshot queues = editor.editing() && editor.shown() == run->id
                                   ? editor.queues().snapshot()
                                   : QueueSnapshot{whole_schedule(*run), {}};
  const std::uint64_t revision = editor.revision_of(run->id);
  session.jobs.submit("save schedule",
                      [&session, path, overwrite, queues, revision](const Cancelled&) -> Jobs::Finish {
                        std::string problem;
                        try {
                          gui::save_schedule(queues.build(), path, overwrite);
                        } catch (const Error& error) {
                          problem = error.line();
                        }
                        return [&session, path, problem, revision] {
                          if (!problem.empty()) return session.say(problem, MessageKind::Problem);
                          session.part<ScheduleEditor>().note_saved(revision, path);
                          session.say("saved " + path);
                        };
                      });
}

}  // namespace pipeloom::gui::commands
