#include "gui/model/edit/edit_history.hpp"

#include <algorithm>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::size_t kMostSteps = 2000;

/// The last part in `order` that `can`; a part that cannot has forgotten its steps. Else any part that can: a part may undo by itself.
template <class Can>
Undoable* next_of(std::vector<Undoable*>& order, const std::vector<Undoable*>& known, const Can& can) {
  while (!order.empty()) {
    Undoable* const who = order.back();
    order.pop_back();
    if (can(*who)) return who;
  }
  const auto other = std::find_if(known.begin(), known.end(), [&](const Undoable* who) { return can(*who); });
  return other == known.end() ? nullptr : *other;
}

bool undoes(const Undoable& who) {
  return who.can_undo();
}

bool redoes(const Undoable& who) {
  return who.can_redo();
}

}  // namespace

void EditHistory::note(Undoable& who) {
  if (std::find(known_.begin(), known_.end(), &who) == known_.end()) known_.push_back(&who);
  done_.push_back(&who);
  if (done_.size() > kMostSteps) done_.erase(done_.begin());
  undone_.clear();
}

bool EditHistory::can_undo() const {
  return std::any_of(known_.begin(), known_.end(), [](const Undoable* who) { return who->can_undo(); });
}

bool EditHistory::can_redo() const {
  return std::any_of(known_.begin(), known_.end(), [](const Undoable* who) { return who->can_redo(); });
}

void EditHistory::undo(Session& session) {
  Undoable* const who = next_of(done_, known_, undoes);
  if (who == nullptr) return session.say("there is nothing to undo");
  who->undo(session);
  undone_.push_back(who);
}

void EditHistory::redo(Session& session) {
  Undoable* const who = next_of(undone_, known_, redoes);
  if (who == nullptr) return session.say("there is nothing to redo");
  who->redo(session);
  done_.push_back(who);
}

void EditHistory::write_state(const Session&, io::JsonWriter& out) const {
  out.object().member("can_undo", can_undo()).member("can_redo", can_redo()).close();
}

}  // namespace pipeloom::gui
