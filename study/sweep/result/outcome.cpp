#include "study/sweep/result/outcome.hpp"

namespace pipeloom::sweep {

void Counts::add(Status status) {
  switch (status) {
    case Status::Ok:
      ++ok;
      return;
    case Status::Illegal:
      ++illegal;
      return;
    case Status::Hang:
      ++hang;
      return;
    case Status::OverMemory:
      ++over_memory;
      return;
    case Status::Failed:
      ++failed;
      return;
  }
}

void Counts::add(const Counts& other) {
  ok += other.ok;
  illegal += other.illegal;
  hang += other.hang;
  over_memory += other.over_memory;
  failed += other.failed;
}

}  // namespace pipeloom::sweep
