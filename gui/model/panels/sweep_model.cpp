#include "gui/model/panels/sweep_model.hpp"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/model/edit/config_model.hpp"
#include "sim/base/error.hpp"

namespace pipeloom::gui {
namespace {

using Json = nlohmann::ordered_json;
using sweep::Row;

constexpr const char* kLane = "sweep";
constexpr std::size_t kFrontInState = 40;

Json front_json(const SweepScene& scene) {
  Json out = Json::array();
  for (const SweepDot& dot : scene.front()) {
    if (out.size() == kFrontInState) break;
    out.push_back({{"point", scene.table().point(dot.row)},
                   {"title", scene.table().title(dot.row)},
                   {"x", std::round(static_cast<double>(dot.x) * 1e6) / 1e6},
                   {"y", std::round(static_cast<double>(dot.y) * 1e6) / 1e6}});
  }
  return out;
}

Json map_json(const SweepScene& scene) {
  if (!scene.map()) return nullptr;
  const sweep::WinnerMap& map = *scene.map();
  Json wins = Json::object();
  for (std::size_t i = 0; i < map.contenders.size(); ++i)
    if (map.wins[i] > 0) wins[map.contenders[i]] = map.wins[i];
  return {{"x", map.x.key}, {"y", map.y.key}, {"what", map.what}, {"wins", wins}};
}

Json point_json(const SweepScene& scene, std::optional<Row> row) {
  return row ? Json(scene.table().point(*row)) : Json(nullptr);
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

std::string SweepModel::state_json(const Session&) const {
  if (!scene_) return "null";
  const SweepScene& scene = *scene_;
  const SweepQuestion& question = scene.question();
  return Json{{"file", file_},
              {"points", scene.table().rows()},
              {"ok", scene.table().status_counts()[0]},
              {"shown", scene.shown()},
              {"x", question.x},
              {"y", question.y},
              {"colour", question.colour},
              {"where", question.where},
              {"metric", scene.metric()},
              {"front_size", scene.front_size()},
              {"front", front_json(scene)},
              {"cells", scene.cells().size()},
              {"map", map_json(scene)},
              {"shows_map", shows_map_},
              {"hovered", point_json(scene, hovered_)},
              {"opened", point_json(scene, opened_)}}
      .dump();
}

}  // namespace pipeloom::gui
