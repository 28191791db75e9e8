#include "gui/model/panels/sweep_model.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"

namespace pipeloom::gui {
namespace {

using sweep::Row;

constexpr const char* kLane = "sweep";
constexpr std::size_t kFrontInState = 40;

void write_front(io::JsonWriter& out, const SweepScene& scene) {
  out.array();
  std::size_t written = 0;
  for (const SweepDot& dot : scene.front()) {
    if (written++ == kFrontInState) break;
    out.object()
        .member("point", scene.table().point(dot.row))
        .member("title", scene.table().title(dot.row))
        .member("x", std::round(static_cast<double>(dot.x) * 1e6) / 1e6)
        .member("y", std::round(static_cast<double>(dot.y) * 1e6) / 1e6)
        .close();
  }
  out.close();
}

void write_map(io::JsonWriter& out, const SweepScene& scene) {
  if (!scene.map()) {
    out.null();
    return;
  }
  const sweep::WinnerMap& map = *scene.map();
  out.object().member("x", map.x.key).member("y", map.y.key).member("what", map.what);
  out.key("wins").object();
  for (std::size_t i = 0; i < map.contenders.size(); ++i)
    if (map.wins[i] > 0) out.member(map.contenders[i], map.wins[i]);
  out.close().close();
}

void write_point(io::JsonWriter& out, const SweepScene& scene, std::optional<Row> row) {
  row ? out.number(scene.table().point(*row)) : out.null();
}

}  // namespace

void SweepModel::show(Session& session, const std::string& path, SweepScene::Table table) {
  file_ = path;
  table_ = std::move(table);
  scene_ = nullptr;
  hovered_ = opened_ = std::nullopt;
  session.preferences.panels["sweep"] = true;
  ask(session, {});
}

void SweepModel::close(Session& session) {
  session.jobs.cancel(kLane);
  file_.clear();
  table_ = nullptr;
  scene_ = nullptr;
  asked_ = {};
  hovered_ = opened_ = std::nullopt;
  session.preferences.panels["sweep"] = false;
}

void SweepModel::change(Session& session, std::string SweepQuestion::*part, std::string_view text) {
  SweepQuestion question = asked_;
  question.*part = std::string(text);
  ask(session, question);
}

void SweepModel::ask(Session& session, const SweepQuestion& question) {
  if (!table_) throw InputError("no sweep is open; open the result of one");
  session.jobs.submit(
      kLane, [this, &session, table = table_, question](const Cancelled& cancelled) -> Jobs::Finish {
        std::shared_ptr<const SweepScene> scene;
        std::string problem;
        try {
          scene = std::make_shared<SweepScene>(table, question, [&] { return static_cast<bool>(cancelled); });
        } catch (const Error& error) {
          problem = error.line();
        } catch (const std::bad_alloc&) {
          problem = "error: out of memory; the result is too large for this machine";
        }
        return [this, &session, question, scene, problem] {
          if (!scene) return session.say(problem, MessageKind::Problem);
          asked_ = question;
          scene_ = scene;
          hovered_ = std::nullopt;
        };
      });
}

void SweepModel::open_row(Session& session, Row row) {
  opened_ = row;
  session.part<ConfigModel>().replace(session, assignments_of(table_->document(row).root()));
  session.say(fmt::format("point {}: {}", table_->point(row), table_->title(row)));
}

void SweepModel::open_point(Session& session, std::uint64_t point) {
  if (!table_) throw InputError("no sweep is open; open the result of one");
  // Points rise from row to row.
  Row first = 0;
  auto last = static_cast<Row>(table_->rows());
  while (first < last) {
    const Row middle = first + (last - first) / 2;
    table_->point(middle) < point ? first = middle + 1 : last = middle;
  }
  if (first == table_->rows() || table_->point(first) != point)
    throw InputError(Where{"sweep-point"}, fmt::format("{} has no point {}", file_, point));
  open_row(session, first);
}

void SweepModel::write_state(const Session&, io::JsonWriter& out) const {
  if (!scene_) {
    out.null();
    return;
  }
  const SweepScene& scene = *scene_;
  const SweepQuestion& question = scene.question();
  out.object()
      .member("file", file_)
      .member("points", scene.table().rows())
      .member("ok", scene.table().status_counts()[0])
      .member("shown", scene.shown())
      .member("x", question.x)
      .member("y", question.y)
      .member("colour", question.colour)
      .member("where", question.where)
      .member("metric", scene.metric())
      .member("winner", scene.winner_text())
      .member("front_size", scene.front_size());
  write_front(out.key("front"), scene);
  out.member("cells", scene.cells().size());
  write_map(out.key("map"), scene);
  out.member("shows_map", shows_map_);
  write_point(out.key("hovered"), scene, hovered_);
  write_point(out.key("opened"), scene, opened_);
  out.close();
}

}  // namespace pipeloom::gui
