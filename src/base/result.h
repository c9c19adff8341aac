// Outside mistakes are values. Result<T> carries either a value or an Error whose message says what, where and what to do.
// Internal mistakes use assert. Nothing outside main calls exit() or abort().
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace weft {

// Each kind maps to one exit code (2 bad input, 1 "no", 3 outside failed, 4 ours) and one HTTP status.
enum class ErrorKind { kInvalid, kNotFound, kConflict, kDenied, kUnavailable, kCorrupt, kInternal };

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;  // what is wrong and what to do
  std::string place;    // "file:line", entity or step; empty when the message says it

  // "place: message", or the message alone.
  std::string text() const;
  // The same error seen from one caller further out: "plan: site.yaml:12: …".
  Error in(std::string_view outer) const;
};

std::string_view kind_name(ErrorKind kind);
int exit_code(ErrorKind kind);    // 2 invalid/not_found/corrupt, 1 conflict, 3 denied/unavailable, 4 internal
int http_status(ErrorKind kind);  // 400 404 409 403 503 422 500

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

std::unexpected<Error> fail(ErrorKind kind, std::string message, std::string place = {});

}  // namespace weft

// Returns the error of a Status or Result expression from the calling function.
#define WEFT_TRY(expression)                                                                                                           \
  do {                                                                                                                                 \
    if (auto weft_try_result = (expression); !weft_try_result.has_value()) return std::unexpected(std::move(weft_try_result).error()); \
  } while (0)

#define WEFT_CONCAT_(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_(a, b)
// WEFT_ASSIGN(auto site, read_site(path)); declares site or returns the error.
#define WEFT_ASSIGN_(tmp, declaration, expression)                      \
  auto tmp = (expression);                                              \
  if (!tmp.has_value()) return std::unexpected(std::move(tmp).error()); \
  declaration = std::move(*tmp)
#define WEFT_ASSIGN(declaration, expression) WEFT_ASSIGN_(WEFT_CONCAT(weft_result_, __COUNTER__), declaration, expression)
