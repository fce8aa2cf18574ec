#!/bin/sh
# Writes a folder BACKUPS/<time> with the whole database and every artifact. The site may go on working meanwhile.
#
# The database first: an artifact's file is there before its row, so that every row of the dump finds its file.
# The folder gets its name when it is complete; one that ends in .unfinished is not.
set -eu
: "${DATABASE_URL:?set it to postgresql://user:password@host/database}"
: "${FILES:?set it to the folder of the artifacts}"
: "${BACKUPS:?set it to the folder where backups go}"

folder="$BACKUPS/$(date -u +%Y-%m-%dT%H%M%SZ)"
umask 077
mkdir -p "$folder.unfinished"
pg_dump --format=custom --no-owner --no-privileges --file="$folder.unfinished/database.dump" "$DATABASE_URL"
tar -C "$FILES" -czf "$folder.unfinished/files.tar.gz" .
sync
mv "$folder.unfinished" "$folder"
echo "$folder"
