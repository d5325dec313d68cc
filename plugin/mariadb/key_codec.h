// The keys of an index: columns as bytes in memcmp order (ordered_bytes.h).
//
// Each column is preceded by 1, or is only a 0 for NULL, where it may be NULL; a descending one is
// inverted. Numbers and times are as the server's Field::sort_string writes them. Strings are the
// weights of their collation: as many as there are, where the collation has one level and weights of
// one width, as nearly all have; all that the column could have otherwise.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server.h"

namespace sluice::mariadb {

class KeyCodec {
 public:
  // Codes the first `parts` columns of a key of `table`, which must outlive it.
  KeyCodec(TABLE* table, const KEY& key, uint parts);

  // Whether two codecs write the same bytes for the same values: they have the same layout.
  const std::string& layout() const { return layout_; }
  // No key is longer.
  size_t max_bytes() const { return max_bytes_; }

  // Appends the columns of `record`, one of the table's or laid out like it. Returns whether one
  // of them is NULL.
  bool AppendRecord(const uchar* record, std::string* out) const;
  // Appends the columns of a key in the server's format, of which there are `bytes` bytes: all
  // columns or the first of them. Returns whether one of them is NULL.
  bool AppendImage(const uchar* image, uint bytes, std::string* out) const;
  // Appends one of the columns alone, whose image begins at `image`.
  void AppendPartImage(size_t part, const uchar* image, std::string* out) const {
    (void)AppendImageOf(parts_[part], image, out);
  }
  // Whether columns can be read back: integers and BINARY, all of them whole and not NULL.
  bool readable() const { return readable_; }
  // Fills the columns of a key that AppendRecord wrote in; false if it cannot have. REQUIRES:
  // readable()
  bool Read(std::string_view key, uchar* record) const;
  // Sets `ends` to where each column ends in a key that AppendRecord wrote; false if it cannot have.
  bool FindEnds(std::string_view key, std::vector<size_t>* ends) const;

 private:
  enum class Kind {
    kSortString,  // by the field, `bytes` long
    kFixedBytes,  // BINARY and BIT
    kBytes,       // VARBINARY and BLOB
    kPadded,      // strings with PAD SPACE, weights one by one
    kWeights,     // strings with NO PAD, weights one by one
    kAllWeights,  // strings of other collations: all weights that the column could have
  };
  struct Part {
    Kind kind;
    Field* field;  // the table's, even if the key has only its beginning
    const KEY_PART_INFO* info;
    bool reverse;
    bool variable;    // the server's format has a length
    uint bytes;       // of what is encoded; of the value, for strings
    uint characters;  // strings: as many at most
    std::string pad;  // kPadded: the weight of a space
  };

  static Part MakePart(TABLE* table, const KEY_PART_INFO& info);
  static bool IsReadable(const Part& part);
  static size_t MaxBytes(const Part& part);
  static void AppendString(const Part& part, std::string_view value, std::string* out);
  static bool AppendImageOf(const Part& part, const uchar* image, std::string* out);
  static void AppendValue(const Part& part, const uchar* at, std::string* out);
  // The value of a string, whose column is at `at` in a record.
  static std::string_view StringIn(const Part& part, const uchar* at);

  TABLE* table_;
  std::vector<Part> parts_;
  std::string layout_;
  size_t max_bytes_ = 0;
  bool readable_ = true;
};

}  // namespace sluice::mariadb
