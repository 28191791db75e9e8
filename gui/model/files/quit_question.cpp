#include "gui/model/files/quit_question.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include <pipeloom/error.hpp>
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/may_replace.hpp"

namespace pipeloom::gui {
namespace {

namespace fs = std::filesystem;

/// "orders/hang-edited.csv" of "orders/hang.csv"; a run of no file has a name in the folder where the program was started.
std::string new_name(const RunModel& origin) {
  const fs::path file = origin.file.empty() || origin.file == "-" ? "order.json" : origin.file;
  const std::string end = file.extension() == ".csv" ? ".csv" : ".json";
  for (int number = 1;; ++number) {
    const std::string more = number == 1 ? "-edited" : fmt::format("-edited-{}", number);
    std::string name = (file.parent_path() / (file.stem().string() + more + end)).string();
    std::error_code none;
    if (!fs::exists(name, none)) return name;
  }
}

}  // namespace

void QuitQuestion::quit(Session& session) {
  const std::vector<UnsavedOrder> unsaved = session.part<ScheduleEditor>().unsaved(session);
  if (unsaved.empty()) {
    asks_ = false;
    session.quit = true;
    return;
  }
  if (asks_ && unsaved.front().run == asked_) return;
  asks_ = true;
  asked_ = unsaved.front().run;
  more_ = unsaved.size() - 1;
  problem_.clear();
  title_ = unsaved.front().origin->title;
  path = new_name(*unsaved.front().origin);
}

void QuitQuestion::save(Session& session) {
  const std::vector<UnsavedOrder> unsaved = session.part<ScheduleEditor>().unsaved(session);
  if (!asks_ || unsaved.empty()) return quit(session);
  const UnsavedOrder& order = unsaved.front();
  session.jobs.submit("save schedule",
                      [this, &session, to = path, queues = order.queues,
                       revision = order.revision](const Cancelled&) -> Jobs::Finish {
                        std::string problem;
                        try {
                          save_schedule(queues.build(), to, io::Overwrite::No);
                        } catch (const Error& error) {
                          problem = error.line();
                        }
                        return [this, &session, to, revision, problem] {
                          problem_ = problem;
                          if (!problem.empty()) return;
                          session.part<ScheduleEditor>().note_saved(revision, to);
                          quit(session);  // or asks of the next one
                        };
                      });
}

void QuitQuestion::discard(Session& session) {
  asks_ = false;
  session.part<ScheduleEditor>().discard_all(session);
  session.quit = true;
}

void QuitQuestion::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("asks", asks_)
      .member("more", more_)
      .member("path", path)
      .member("problem", problem_)
      .close();
}

}  // namespace pipeloom::gui
