#include "gui/model/session/palette.hpp"

#include <algorithm>

#include "gui/model/commands/menus.hpp"
#include "support/catch.hpp"

namespace palette_test {

using namespace pipeloom::gui;

namespace {

std::vector<std::string> titles_of(const std::vector<PaletteEntry>& entries) {
  std::vector<std::string> titles;
  for (const PaletteEntry& entry : entries) titles.push_back(entry.title);
  return titles;
}

}  // namespace

TEST_CASE("menus: at most 14 entries each, and a check mark says what is on") {
  Session session;
  const auto count = [](const Menu& menu) {
    const auto commands =
        std::ranges::count_if(menu.entries, [](const MenuEntry& one) { return one.command != nullptr; });
    return static_cast<std::size_t>(commands) + menu.inside.size() + (menu.panels ? 1 : 0);
  };
  for (const Menu& menu : all_menus()) {
    CAPTURE(menu.title);
    CHECK(count(menu) <= kMostInMenu);
    for (const Menu& inside : menu.inside) CHECK(count(inside) <= kMostInMenu);
    for (const MenuEntry& one : menu.entries) {
      if (one.command == nullptr || one.command->id != "toggle-critical") continue;
      CHECK_FALSE(one.on(session));
      run_command(session, "toggle-critical");
      CHECK(one.on(session));
    }
  }
}

TEST_CASE("letters match in order, in either case") {
  CHECK(fuzzy_score("zin", "Zoom in") > 0);
  CHECK(fuzzy_score("niz", "Zoom in") == 0);
  CHECK(fuzzy_score("zoom in", "zoom-in") > 0);
  CHECK(fuzzy_score("", "anything") > 0);
  CHECK(fuzzy_score("zoom in now", "Zoom in") == 0);
}

TEST_CASE("beginnings of words and neighbours count more") {
  CHECK(fuzzy_score("zi", "Zoom in") > fuzzy_score("zi", "horizontal trim"));
  CHECK(fuzzy_score("pan", "pan left") > fuzzy_score("pan", "paste a run"));
  CHECK(fuzzy_score("fit", "Fit") > fuzzy_score("fit", "Fit the measured range of the selection"));
}

TEST_CASE("the letters that match are known") {
  std::vector<std::size_t> at;
  CHECK(fuzzy_score("zin", "Zoom in", &at) > 0);
  CHECK(at == std::vector<std::size_t>{0, 5, 6});
  CHECK(fuzzy_score("oo", "Zoom in", &at) > 0);
  CHECK(at == std::vector<std::size_t>{1, 2});
}

TEST_CASE("the palette offers every command, and the best first") {
  const Session session;
  CHECK(palette_entries(session, "").size() == all_commands().size());
  for (const Command& command : all_commands()) {
    const auto entries = palette_entries(session, command.title);
    REQUIRE_FALSE(entries.empty());
    CHECK(entries.front().title == command.title);
  }
  CHECK(palette_entries(session, "zoom-out").front().id == "zoom-out");
  CHECK(palette_entries(session, "qqqqzzzz").empty());
}

TEST_CASE("a command's id and its argument stand in one line") {
  const Session session;
  const auto one = palette_entries(session, "colour stage");
  REQUIRE(one.size() == 1);
  CHECK(one.front().id == "colour");
  CHECK(one.front().argument == "stage");
  const auto all = palette_entries(session, "colour ");
  // kind, chunk, stage, microbatch, slack, and the command on its own.
  CHECK(all.size() == 6);
  CHECK(all.back().argument.empty());
  const auto number = palette_entries(session, "scale 1.5");
  REQUIRE(number.size() == 1);
  CHECK(number.front().argument == "1.5");
  // Any number of letters of a choice.
  CHECK(palette_entries(session, "colour mb").front().argument == "microbatch");
}

TEST_CASE("panels and schedules are found by name") {
  Session session;
  session.panel_defaults = {{"ops", true}, {"causes", false}};
  CHECK(palette_entries(session, "toggle-panel causes").front().argument == "causes");
  if (find_command("set") == nullptr) return;
  const auto entries = palette_entries(session, "zb-h1");
  const auto titles = titles_of(entries);
  const auto found = std::find(titles.begin(), titles.end(), "Schedule: zb-h1");
  REQUIRE(found != titles.end());
  CHECK(entries[static_cast<std::size_t>(found - titles.begin())].argument == "schedule zb-h1");
  CHECK(palette_entries(session, "schedule dualpipe-v").front().argument == "schedule dualpipe-v");
}

TEST_CASE("Enter runs the chosen entry, or asks for its argument") {
  Session session;
  auto& palette = session.part<PaletteModel>();
  run_command(session, "palette");
  CHECK(palette.is_open());
  CHECK(session.focus_request == "palette");
  palette.type(session, "colour");
  REQUIRE(palette.entries().front().id == "colour");
  palette.run(session, 0);
  CHECK(palette.is_open());
  CHECK(palette.typed() == "colour ");
  palette.type(session, "colour stage");
  palette.run(session, palette.chosen());
  CHECK_FALSE(palette.is_open());
  CHECK(session.view.colour == GanttColour::Stage);
}

TEST_CASE("arrows go round the ends of the list") {
  Session session;
  auto& palette = session.part<PaletteModel>();
  palette.open(session);
  palette.type(session, "colour ");
  palette.move(-1);
  CHECK(palette.chosen() == 5);
  palette.move(1);
  CHECK(palette.chosen() == 0);
  palette.type(session, "no such thing at all");
  palette.move(1);
  CHECK(palette.chosen() == 0);
  palette.run(session, 0);
  CHECK(palette.is_open());
}

TEST_CASE("the sheet has every command with a key, in groups") {
  std::size_t on_sheet = 0;
  for (const SheetGroup& group : sheet_groups())
    for (const Command* command : group.commands) {
      CHECK(command->group == group.name);
      CHECK_FALSE(keys_text(*command).empty());
      ++on_sheet;
    }
  const auto keyed = std::count_if(all_commands().begin(), all_commands().end(),
                                   [](const Command& command) { return !command.keys.empty(); });
  CHECK(on_sheet == static_cast<std::size_t>(keyed));
  CHECK(keys_text(*find_command("sheet")) == "?, F1");
}

TEST_CASE("no key runs two commands") {
  for (const Command& command : all_commands())
    for (const Chord& chord : command.keys) CHECK(command_of(chord) == &command);
}

}  // namespace palette_test
