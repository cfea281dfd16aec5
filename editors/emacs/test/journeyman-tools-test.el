;;; journeyman-tools-test.el --- The tools through the dispatcher  -*- lexical-binding: t; -*-

;;; Commentary:

;; JM=path/to/jm emacs -Q --batch -L editors/emacs -l editors/emacs/test/journeyman-tools-test.el \
;;   -f ert-run-tests-batch-and-exit
;; The names are those of the Forj document.

;;; Code:

(require 'ert)
(require 'journeyman-dispatch)

(defmacro forj-test--with (files &rest body)
  "Run BODY in a directory with FILES, a list of names and texts."
  (declare (indent 1))
  `(let* ((default-directory (file-name-as-directory (file-truename (make-temp-file "jm-forj" t))))
          (state (make-temp-file "jm-state" t))
          (process-environment (append (list (concat "JM_STATE_DIR=" state) (concat "XDG_CONFIG_HOME=" state))
                                       process-environment))
          (journeyman-program (list (getenv "JM"))))
     (cl-loop for (name text) on ,files by #'cddr
              do (write-region text nil name nil 'silent))
     (unwind-protect (progn ,@body)
       (delete-directory default-directory t)
       (delete-directory state t))))

(defun forj-test--dispatch (json)
  "The result of the call JSON."
  (let ((end (+ (float-time) 60)) (result nil))
    (journeyman-dispatch json (lambda (it) (setq result it)))
    (while (not result)
      (when (> (float-time) end) (error "No result for %s" json))
      (accept-process-output nil 0.02))
    result))

(defun forj-test--call (name args)
  "The result of the tool NAME with ARGS."
  (forj-test--dispatch (journeyman-acp-write `((id . "c1") (name . ,name) (args . ,args)))))

(defun forj-test--file (name)
  "The text of the file NAME."
  (with-temp-buffer (insert-file-contents name) (buffer-string)))

(defun forj-test--approved ()
  "Flags with which everything is approved."
  (cons "--yes" (default-value 'journeyman-dispatch-arguments)))

(ert-deftest forj-test-tools-read-file-basic ()
  (forj-test--with '("a.txt" "eins\nzwei\ndrei ä\n")
    (let-alist (forj-test--call "read_file" '((path . "a.txt") (start_line . 2) (end_line . 3)))
      (should (equal .id "c1"))
      (should (equal .name "read_file"))
      (should (eq .ok t))
      (should (equal .result.path "a.txt"))
      (should (equal .result.content "zwei\ndrei ä\n"))
      (should (equal .result.range '((start_line . 2) (end_line . 3)))))
    (let-alist (forj-test--call "read_file" '((path . "b.txt")))
      (should (eq .ok :false))
      (should (equal .error.type "file-error"))
      (should (stringp .error.message))
      (should (vectorp .error.recovery)))
    (let-alist (forj-test--call "read_file" '((path . "../b.txt")))
      (should (equal .error.type "validation-error")))))

(ert-deftest forj-test-tools-write-file-validation-fails ()
  (forj-test--with '("a.el" "(message \"a\")\n")
    (let ((journeyman-dispatch-arguments (forj-test--approved)))
      (let-alist (forj-test--call "write_file" '((path . "a.el") (content . "(message \"b\"")))
        (should (eq .ok :false))
        (should (equal .error.type "validation-error"))
        (should (equal 1 (alist-get 'line (aref .error.details.errors 0)))))
      (should (equal "(message \"a\")\n" (forj-test--file "a.el")))
      (let-alist (forj-test--call "write_file" '((path . "a.el") (content . "(message \"b\")\n")))
        (should (eq .ok t))
        (should (equal "(message \"a\")\n" (forj-test--file .result.backup_path)))))))

(ert-deftest forj-test-tools-edit-region-bounds ()
  (forj-test--with '("a.txt" "1\n2\n3\n")
    (let ((journeyman-dispatch-arguments (forj-test--approved)))
      (pcase-dolist (`(,first ,last) '((0 1) (3 2) (2 9) (9 9)))
        (let-alist (forj-test--call "edit_region" `((path . "a.txt") (start_line . ,first) (end_line . ,last)
                                                    (new_content . "x")))
          (should (eq .ok :false))
          (should (equal .error.type "validation-error"))))
      (should (equal "1\n2\n3\n" (forj-test--file "a.txt")))
      (let-alist (forj-test--call "edit_region" '((path . "a.txt") (start_line . 3) (end_line . 3)
                                                  (new_content . "drei") (expected . "3")))
        (should (eq .result.changed t)))
      (should (equal "1\n2\ndrei\n" (forj-test--file "a.txt"))))))

(ert-deftest forj-test-tools-search-matches-capped ()
  (forj-test--with (list "a.txt" (apply #'concat (make-list 300 "needle\n")))
    (let-alist (forj-test--call "search" '((query . "needle")))
      (should (= 200 (length .result))))
    (let-alist (forj-test--call "search" '((query . "NEED.E") (is_regex . t) (max_results . 3)))
      (should (equal '(1 2 3) (mapcar (lambda (match) (alist-get 'line match)) .result)))
      (should (equal "needle" (alist-get 'match_text (aref .result 0)))))))

(ert-deftest forj-test-tools-run-shell-timeout ()
  (forj-test--with '()
    (let-alist (forj-test--call "run_shell" '((cmd . ["sleep" "30"]) (timeout . 1)))
      (should (eq .ok :false))
      (should (equal .error.type "process-error"))
      (should (string-search "timed out" .error.message)))))

(ert-deftest forj-test-tools-run-tests-selector ()
  (forj-test--with '("a-test.el" "(require 'ert)\n(ert-deftest one-a () (should t))\n(ert-deftest one-b () (should nil))\n(ert-deftest two () (should t))\n")
    (let ((journeyman-dispatch-arguments (forj-test--approved)))
      (let-alist (forj-test--call "run_tests" '((selector . "one")))
        (should (equal '(2 1 1) (list .result.total .result.passed .result.failed))))
      (let-alist (forj-test--call "run_tests" '((selector . "two")))
        (should (equal '(1 1 0) (list .result.total .result.passed .result.failed)))))))

(ert-deftest the-dispatcher-rejects-what-is-no-call ()
  (forj-test--with '()
    (dolist (json '("{" "[1]" "\"x\"" "{\"id\": \"1\"}" "{\"id\": \"1\", \"name\": 4}"
                    "{\"id\": \"1\", \"name\": \"browse\"}"
                    "{\"id\": \"1\", \"name\": \"read_file\", \"args\": {}}"))
      (let-alist (forj-test--dispatch json)
        (should (eq .ok :false))
        (should (equal .error.type "validation-error"))
        (should (stringp .error.message))))))

(ert-deftest the-dispatcher-asks-for-approval-of-what-changes-something ()
  (forj-test--with '()
    (let-alist (forj-test--call "write_file" '((path . "a") (content . "a")))
      (should (eq .ok :false))
      (should (equal .error.details.kind "needs_approval"))
      (should-not (file-exists-p "a")))))

(ert-deftest a-block-in-any-buffer-gets-its-result ()
  (forj-test--with '("a.txt" "one\n")
    (let ((root default-directory))
      (with-temp-buffer
        (setq default-directory root)
        (insert "I look.\n\n```tool-call\n{\"id\": \"7\", \"name\": \"read_file\",\n \"args\": {\"path\": \"a.txt\"}}\n```\nmore\n")
        (goto-char (point-min))
        (should-error (journeyman-dispatch-block))
        (search-forward "read_file")
        (journeyman-dispatch-block)
        (let ((end (+ (float-time) 60)))
          (while (and (not (string-search "tool-result" (buffer-string))) (< (float-time) end))
            (accept-process-output nil 0.02)))
        (should (string-search "```\n\n```tool-result\n{\"id\":\"7\",\"name\":\"read_file\",\"ok\":true" (buffer-string)))
        (should (string-suffix-p "\n```\nmore\n" (buffer-string)))))))

;;; journeyman-tools-test.el ends here
