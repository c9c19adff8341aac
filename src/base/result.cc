#include "base/result.h"

namespace weft {

std::string Error::text() const { return place.empty() ? message : place + ": " + message; }

Error Error::in(std::string_view outer) const {
  Error e = *this;
  e.place = place.empty() ? std::string(outer) : std::string(outer) + ": " + place;
  return e;
}

std::string_view kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return "invalid";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kConflict: return "conflict";
    case ErrorKind::kDenied: return "denied";
    case ErrorKind::kUnavailable: return "unavailable";
    case ErrorKind::kCorrupt: return "corrupt";
    case ErrorKind::kInternal: return "internal";
  }
  return "internal";
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kNotFound:
    case ErrorKind::kCorrupt: return 2;
    case ErrorKind::kConflict: return 1;
    case ErrorKind::kDenied:
    case ErrorKind::kUnavailable: return 3;
    case ErrorKind::kInternal: return 4;
  }
  return 4;
}

int http_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return 400;
    case ErrorKind::kNotFound: return 404;
    case ErrorKind::kConflict: return 409;
    case ErrorKind::kDenied: return 403;
    case ErrorKind::kUnavailable: return 503;
    case ErrorKind::kCorrupt: return 422;
    case ErrorKind::kInternal: return 500;
  }
  return 500;
}

std::unexpected<Error> fail(ErrorKind kind, std::string message, std::string place) {
  return std::unexpected(Error{kind, std::move(message), std::move(place)});
}

}  // namespace weft
