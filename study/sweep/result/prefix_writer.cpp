#include "study/sweep/result/prefix_writer.hpp"

#include <utility>

namespace pipeloom::sweep {

void PrefixWriter::put(std::uint64_t piece, PieceText text) {
  if (piece < next_ || waiting_.count(piece) != 0) return;
  waiting_bytes_ += text.lines.size();
  waiting_.emplace(piece, std::move(text));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_ && !ended_;
       first = waiting_.begin()) {
    const PieceText in_turn = std::move(first->second);
    waiting_bytes_ -= in_turn.lines.size();
    waiting_.erase(first);
    write(in_turn);
  }
}

void PrefixWriter::write(const PieceText& text) {
  file_.append(text.lines);
  counts_.add(text.counts);
  end_point_ = text.end_point;
  ended_ = !text.complete;
  if (text.complete) ++next_;
}

}  // namespace pipeloom::sweep
