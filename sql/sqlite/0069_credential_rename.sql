ALTER TABLE "credential_folded" RENAME TO "credential";
