;;; journeyman-test.el --- Conversations in a real Emacs against the real program  -*- lexical-binding: t; -*-

;;; Commentary:

;; JM=path/to/jm emacs -Q --batch -L editors/emacs -l editors/emacs/test/journeyman-test.el \
;;   -f ert-run-tests-batch-and-exit
;; Each case has a directory of its own.  The model is a script.

;;; Code:

(require 'ert)
(require 'journeyman)

(defconst journeyman-test--patience 60)

(defun journeyman-test--wait (what holds)
  "Wait until HOLDS gives non-nil; WHAT says for what."
  (let ((end (+ (float-time) journeyman-test--patience)))
    (while (not (funcall holds))
      (when (> (float-time) end)
        (error "Waited in vain for %s in:\n%s" what (buffer-substring-no-properties (point-min) (point-max))))
      (accept-process-output nil 0.02))))

(defmacro journeyman-test--with (files script &rest body)
  "Run BODY in a conversation in a directory with FILES; the model follows SCRIPT."
  (declare (indent 2))
  `(let* ((root (file-name-as-directory (file-truename (make-temp-file "jm-emacs" t))))
          (state (make-temp-file "jm-state" t))
          (model (concat state "/model.toml"))
          (process-environment (append (list (concat "JM_STATE_DIR=" state) (concat "XDG_CONFIG_HOME=" state))
                                       process-environment))
          (journeyman-program (list (getenv "JM")))
          (journeyman-model (concat "script:" model))
          (journeyman-arguments '("--toolset" "forj"))
          (make-backup-files nil) (create-lockfiles nil)
          (default-directory root))
     (cl-loop for (name text) on ,files by #'cddr
              do (write-region text nil (concat root name) nil 'silent))
     (write-region ,script nil model nil 'silent)
     (unwind-protect
         (save-window-excursion
           (journeyman)
           (unwind-protect (progn ,@body)
             (let ((process (and journeyman--acp (journeyman-acp-process journeyman--acp))))
               (kill-buffer)
               (when process
                 (journeyman-test--wait "the end of the program" (lambda () (not (process-live-p process))))))))
       (delete-directory root t)
       (delete-directory state t))))

(defun journeyman-test--send (text)
  "Send the prompt TEXT."
  (goto-char (point-max))
  (insert text)
  (journeyman-send))

(defun journeyman-test--ended ()
  "Wait until the prompt was answered."
  (journeyman-test--wait "the end of the answer" (lambda () (not journeyman--busy))))

(defun journeyman-test--question ()
  "Wait until something needs approval; return the buffer that asks."
  (journeyman-test--wait "a question" (lambda () journeyman-approval-questions))
  (journeyman-approval--buffer))

(defun journeyman-test--file (name)
  "The text of the file NAME."
  (with-temp-buffer (insert-file-contents name) (buffer-string)))

(defconst journeyman-test--edit "[[turn]]
steps = [{ text = \"I change it.\" }, { call = \"edit_region\", args = { path = \"a.txt\", start_line = 2, end_line = 2, new_content = \"zwei\" } }]
")

(defun journeyman-test--then (expected said)
  "A turn that expects a result with EXPECTED and answers SAID."
  (format "[[turn]]\nexpect = { results_contain = [%S] }\nsteps = [{ text = %S }]\n" expected said))

(ert-deftest a-whole-conversation-with-an-approval ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      (concat journeyman-test--edit (journeyman-test--then "\"changed\":true" "Changed."))
    (journeyman-test--send "Change it.")
    (insert "the next prompt")
    (with-current-buffer (journeyman-test--question)
      (should (string-search "-two\n+zwei" (buffer-string)))
      (should (string-search "Needs approval" (buffer-string)))
      (should (equal "one\ntwo\n" (journeyman-test--file (concat root "a.txt"))))
      (journeyman-approval-yes))
    (journeyman-test--ended)
    (should (equal "one\nzwei\n" (journeyman-test--file (concat root "a.txt"))))
    (let ((text (buffer-string)))
      (should (string-search "You\nChange it.\n\nAgent\nI change it.\n\n▸ Replace lines 2-2 of a.txt [done]\n" text))
      (should (string-search "\n\nChanged." text)))
    (should (equal "the next prompt" (journeyman-log-input)))
    (should (= (point) (point-max)))))

(ert-deftest calls-and-results-are-logged-and-folded ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"a.txt\", start_line = 2, end_line = 2 } }]\n[[turn]]\nsteps = [{ text = \"Read.\" }]\n"
    (journeyman-test--send "Read it.")
    (journeyman-test--ended)
    (let ((call (car (journeyman-log-calls))))
      (goto-char (journeyman-call-start call))
      (should (looking-at-p "▸ read_file"))
      (should (looking-at-p "\\(?:.*\n\\)```tool-call\n{\\(?:.\\|\n\\)*\"name\": \"read_file\""))
      (should (invisible-p (journeyman-call-body call)))
      (search-forward "```tool-result")
      (should (looking-at-p "\n{\\(?:.\\|\n\\)*\"ok\": true"))
      (goto-char (journeyman-call-start call))
      (journeyman-tab)
      (should (looking-at-p "▾ read_file"))
      (should-not (invisible-p (journeyman-call-body call)))
      (journeyman-tab)
      (should (invisible-p (journeyman-call-body call)))
      (forward-char 3)
      (push-button)
      (should (equal (buffer-file-name) (concat root "a.txt")))
      (should (= 2 (line-number-at-pos)))
      (kill-buffer))))

(ert-deftest a-rejection-tells-the-reason ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      (concat journeyman-test--edit (journeyman-test--then "keep the English" "A pity."))
    (journeyman-test--send "Change it.")
    (with-current-buffer (journeyman-test--question) (journeyman-approval-reject "keep the English"))
    (journeyman-test--ended)
    (should (equal "one\ntwo\n" (journeyman-test--file (concat root "a.txt"))))
    (should (string-search "[failed]" (buffer-string)))
    (should (string-search "A pity." (buffer-string)))))

(ert-deftest marked-calls-run-and-the-others-do-not ()
  (journeyman-test--with '()
      (concat "[[turn]]\nsteps = ["
              "{ call = \"write_file\", args = { path = \"a\", content = \"a\" } },"
              "{ call = \"write_file\", args = { path = \"b\", content = \"b\" } },"
              "{ call = \"write_file\", args = { path = \"c\", content = \"c\" } }]\n"
              "[[turn]]\nsteps = [{ text = \"Done.\" }]\n")
    (journeyman-test--send "Write them.")
    (journeyman-test--wait "three questions" (lambda () (nth 2 journeyman-approval-questions)))
    (with-current-buffer (journeyman-approval--buffer)
      (should (string-search "3 calls need approval" (buffer-string)))
      (should-error (journeyman-approval-selected))
      (goto-char (point-min))
      (journeyman-approval-next)
      (journeyman-approval-mark)
      (journeyman-approval-next)
      (journeyman-approval-mark)
      (journeyman-approval-selected))
    (journeyman-test--ended)
    (should (equal '(t nil t) (mapcar (lambda (name) (file-exists-p (concat root name))) '("a" "b" "c"))))))

(ert-deftest a-buffer-with-unsaved-changes-is-never-written-behind-its-back ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      (concat journeyman-test--edit (journeyman-test--then "unsaved changes" "I wait."))
    (let ((other (find-file-noselect (concat root "a.txt"))))
      (with-current-buffer other (goto-char (point-max)) (insert "mine\n"))
      (let ((journeyman-arguments (append journeyman-arguments '("--yes"))))
        (journeyman-test--send "Change it."))
      (journeyman-test--ended)
      (should (string-search "I wait." (buffer-string)))
      (should (equal "one\ntwo\n" (journeyman-test--file (concat root "a.txt"))))
      (with-current-buffer other
        (should (equal "one\ntwo\nmine\n" (buffer-string)))
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(ert-deftest a-file-edited-while-its-change-waits-is-not-approved ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      (concat journeyman-test--edit (journeyman-test--then "" "Done."))
    (let ((other (find-file-noselect (concat root "a.txt"))))
      (journeyman-test--send "Change it.")
      (with-current-buffer (journeyman-test--question)
        (with-current-buffer other (goto-char (point-max)) (insert "mine\n"))
        (should (string-search "unsaved changes" (cadr (should-error (journeyman-approval-yes)))))
        (with-current-buffer other (save-buffer))
        (journeyman-approval-yes))
      ;; It was shown another file, so it is asked once more.
      (with-current-buffer (journeyman-test--question) (journeyman-approval-yes))
      (journeyman-test--ended)
      (should (equal "one\nzwei\nmine\n" (journeyman-test--file (concat root "a.txt"))))
      (with-current-buffer other
        (should (equal "one\nzwei\nmine\n" (buffer-string)))
        (kill-buffer)))))

(ert-deftest a-read-only-buffer-keeps-its-file ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      (concat journeyman-test--edit (journeyman-test--then "read-only in the editor" "I wait."))
    (let ((other (find-file-noselect (concat root "a.txt"))))
      (with-current-buffer other (read-only-mode 1))
      (let ((journeyman-arguments (append journeyman-arguments '("--yes"))))
        (journeyman-test--send "Change it."))
      (journeyman-test--ended)
      (should (equal "one\ntwo\n" (journeyman-test--file (concat root "a.txt"))))
      (kill-buffer other))))

(ert-deftest a-long-command-streams-into-a-buffer-and-its-result-sums-it-up ()
  (journeyman-test--with '()
      "[[turn]]\nsteps = [{ call = \"run_shell\", args = { cmd = [\"sh\", \"-c\", \"echo one; while [ ! -e go ]; do sleep 0.05; done; echo two\"] } }]\n[[turn]]\nsteps = [{ text = \"Done.\" }]\n"
    (let ((journeyman-arguments (append journeyman-arguments '("--yes"))))
      (journeyman-test--send "Count."))
    (journeyman-test--wait "its first line"
                           (lambda () (cl-some #'journeyman-call-stream (journeyman-log-calls))))
    (let ((stream (journeyman-call-stream (car (journeyman-log-calls)))))
      (should (string-suffix-p "\none" (with-current-buffer stream (buffer-string))))
      (should (string-search "[running] output" (buffer-string)))
      (write-region "" nil (concat root "go") nil 'silent)
      (journeyman-test--ended)
      (should (string-suffix-p "[done]\n" (with-current-buffer stream (buffer-string))))
      (should (string-search "one\\ntwo\\n" (buffer-string)))
      (kill-buffer stream))))

(ert-deftest tasks-have-a-panel ()
  (journeyman-test--with '()
      (concat "[[turn]]\nsteps = [{ call = \"todo_write\", args = { action = \"create\", title = \"think\" } },"
              "{ call = \"task\", args = { action = \"create\", title = \"build\", priority = \"high\" } }]\n"
              "[[turn]]\nsteps = [{ call = \"todo_write\", args = { action = \"complete\", id = \"todo-1\" } }]\n"
              "[[turn]]\nsteps = [{ text = \"Done.\" }]\n")
    (journeyman-test--send "Plan.")
    (journeyman-test--ended)
    (should (equal "1/2" (journeyman-panels-count)))
    (should (string-search "tasks 1/2" (journeyman--header)))
    (with-current-buffer (journeyman-panels--draw-tasks)
      (should (equal "[x] think\n[ ] build  high\n" (buffer-string)))
      (kill-buffer))))

(ert-deftest the-program-is-stopped-by-a-key ()
  (journeyman-test--with '()
      "[[turn]]\nsteps = [{ text = \"Slowly\" }, { delay_ms = 60000 }, { text = \".\" }]\n"
    (journeyman-test--send "Hello")
    (journeyman-test--wait "the streamed answer" (lambda () (string-search "Slowly" (buffer-string))))
    (should-error (journeyman-test--send "More"))
    (journeyman-cancel)
    (journeyman-test--ended)
    (should (string-search "Stopped" (buffer-string)))))

(ert-deftest a-program-that-is-killed-is-started-again ()
  (journeyman-test--with '("a.txt" "one\ntwo\n") journeyman-test--edit
    (journeyman-test--send "Change it.")
    (let ((asking (journeyman-test--question)))
      (signal-process (journeyman-acp-process journeyman--acp) 'KILL)
      (journeyman-test--ended)
      (should-not (buffer-live-p asking)))
    (should (string-search "The program ended" (buffer-string)))
    (should (string-search "[lost]" (buffer-string)))
    (let ((session journeyman--session))
      (write-region "[[turn]]\nsteps = [{ text = \"Here I am.\" }]\n" nil model nil 'silent)
      (journeyman-test--send "Are you there?")
      (journeyman-test--wait "an answer or a question"
                             (lambda () (or journeyman-approval-questions (not journeyman--busy))))
      (when journeyman-approval-questions
        (with-current-buffer (journeyman-approval--buffer)
          (let ((last-command-event ?2)) (journeyman-approval-choose))))
      (journeyman-test--ended)
      (should (string-search "Here I am." (buffer-string)))
      (should (equal session journeyman--session))
      (should (equal "one\ntwo\n" (journeyman-test--file (concat root "a.txt")))))))

(ert-deftest an-earlier-session-is-shown-again ()
  (journeyman-test--with '("a.txt" "one\ntwo\n")
      "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"a.txt\" } }]\n[[turn]]\nsteps = [{ text = \"Read.\" }]\n"
    (journeyman-test--send "Read it.")
    (journeyman-test--ended)
    (let ((id journeyman--session))
      (journeyman-load-session id)
      (journeyman-test--wait "the old answer" (lambda () (string-search "Read." (buffer-string))))
      (should (string-search "You\nRead it." (buffer-string)))
      (should (= 1 (length (journeyman-log-calls)))))))

(ert-deftest a-program-that-is-not-there-is-named ()
  (journeyman-test--with '() ""
    (let ((journeyman-program '("no-such-jm")))
      (should (string-search "no-such-jm" (cadr (should-error (journeyman-test--send "Hello")))))
      (should-not journeyman--busy)
      (should (equal "Hello" (journeyman-log-input))))))

(ert-deftest the-log-cannot-be-edited-and-the-prompt-can ()
  (journeyman-test--with '() "[[turn]]\nsteps = [{ text = \"Hi.\" }]\n"
    (journeyman-test--send "Hello")
    (journeyman-test--ended)
    (goto-char (point-min))
    (should-error (insert "x") :type 'text-read-only)
    (goto-char (point-max))
    (insert "/un")
    (setq journeyman--commands '(((name . "undo"))))
    (should (equal '("undo") (nth 2 (journeyman-complete))))))

;;; journeyman-test.el ends here
