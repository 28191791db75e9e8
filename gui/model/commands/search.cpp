// Commands of the search.

#include "gui/model/panels/search.hpp"

namespace pipeloom::gui::commands {

void search(Session& session, std::string_view text) {
  auto& model = session.part<SearchModel>();
  model.set(session, std::string(text));
  // Once it is understood, the complaint about the one before is over.
  session.say(model.error(), model.error().empty() ? MessageKind::Note : MessageKind::Problem);
}

void find(Session& session, std::string_view) {
  session.focus_request = "search";
}

void search_next(Session& session, std::string_view) {
  session.part<SearchModel>().step(session, true);
}

void search_previous(Session& session, std::string_view) {
  session.part<SearchModel>().step(session, false);
}

void clear_search(Session& session, std::string_view) {
  session.part<SearchModel>().clear(session);
}

}  // namespace pipeloom::gui::commands
