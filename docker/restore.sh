#!/bin/sh
# restore.sh FOLDER: brings a backup into an empty database and the artifacts' folder.
#
# All or nothing: a database that holds tables already refuses the first of them, and stays as it was.
# What could fail of the artifacts is tried before it.
set -eu
: "${DATABASE_URL:?set it to postgresql://user:password@host/database}"
: "${FILES:?set it to the folder of the artifacts}"
folder="${1:?name the folder that backup.sh printed}"
[ -f "$folder/database.dump" ] || { echo "$folder holds no database.dump: is it a whole backup?" >&2; exit 2; }
tar -tzf "$folder/files.tar.gz" >/dev/null || { echo "$folder/files.tar.gz is not whole" >&2; exit 2; }
mkdir -p "$FILES" && [ -w "$FILES" ] || { echo "cannot write into $FILES: restore as its owner" >&2; exit 2; }

pg_restore --single-transaction --exit-on-error --no-owner --no-privileges --dbname="$DATABASE_URL" \
    "$folder/database.dump" ||
    { echo "nothing was restored: restore into an empty database, of this Postgres or a newer one" >&2; exit 1; }
tar -C "$FILES" -xzf "$folder/files.tar.gz"
echo "restored $folder"
