#include "study/text/at_place.hpp"

#include <pipeloom/error.hpp>

namespace pipeloom::study {
namespace {

template <class Kind>
void rethrow(const Kind& error, const std::string& file) {
  if (error.where().file.empty() && !file.empty()) throw Kind(Where{file}, error.what());
}

}  // namespace

void rethrow_at(const std::string& file) {
  try {
    throw;
  } catch (const HangError& error) {
    rethrow(error, file);
    throw;
  } catch (const ScheduleError& error) {
    rethrow(error, file);
    throw;
  } catch (const TooLargeError& error) {
    rethrow(error, file);
    throw;
  } catch (const InputError& error) {
    rethrow(error, file);
    throw;
  }
}

}  // namespace pipeloom::study
