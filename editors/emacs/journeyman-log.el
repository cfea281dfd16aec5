;;; journeyman-log.el --- The text of a conversation buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; A conversation buffer is a log that cannot be edited, and behind it the prompt that is being written.
;; Each call has one line, a button that opens its file, and beneath it, folded, its `tool-call' and
;; `tool-result' blocks with the diff between them.
;;
;; Law: what is being written stays where it is, and point with it, whatever is added to the log.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'journeyman-acp)
(require 'journeyman-diff)
(require 'subr-x)

(defface journeyman-role '((t :inherit font-lock-keyword-face :weight bold))
  "The name of who speaks."
  :group 'journeyman)
(defface journeyman-call '((t :inherit link))
  "The line of a call."
  :group 'journeyman)
(defface journeyman-state '((t :inherit font-lock-comment-face))
  "The state of a call, and notes."
  :group 'journeyman)
(defface journeyman-failed '((t :inherit error))
  "A failed call, and errors."
  :group 'journeyman)
(defface journeyman-thought '((t :inherit font-lock-doc-face))
  "The model's thinking."
  :group 'journeyman)

(cl-defstruct (journeyman-call (:constructor journeyman-call--make))
  "A call of the model."
  id name title kind status input output text hunks locations
  start body end fold stream)

(defvar-local journeyman-log--end nil "The end of the log.")
(defvar-local journeyman-log--input nil "The start of the prompt that is being written.")
(defvar-local journeyman-log--calls nil "The calls, by id.")
(defvar-local journeyman-log--speaker nil "The last speaker in the log.")
(defvar-local journeyman-log-root nil "The directory of the project, with a slash.")

(defconst journeyman-log--marks '(journeyman t read-only t front-sticky (read-only) rear-nonsticky t))

(defun journeyman-log-begin ()
  "Make the current buffer an empty conversation."
  (let ((inhibit-read-only t))
    (erase-buffer)
    (remove-overlays)
    (setq journeyman-log--calls (make-hash-table :test #'equal)
          journeyman-log--speaker nil
          journeyman-log--end (copy-marker (point-min) t))
    (save-excursion
      (let ((prompt (propertize "\n> " 'face 'journeyman-role)))
        (add-text-properties 0 (length prompt) journeyman-log--marks prompt)
        (insert prompt)))
    (set-marker journeyman-log--end (point-min))
    (goto-char (point-max))
    (setq journeyman-log--input (copy-marker (point-max)))
    (setq buffer-undo-list nil)))

(defmacro journeyman-log--writing (&rest body)
  "Run BODY, which changes the log, and keep point and the windows."
  (declare (indent 0))
  `(let ((inhibit-read-only t)
         (at-end (cl-loop for window in (get-buffer-window-list nil nil t)
                          when (>= (window-point window) journeyman-log--input)
                          collect (cons window (- (window-point window) journeyman-log--input))))
         (ahead (and (>= (point) journeyman-log--input) (- (point) journeyman-log--input))))
     (with-silent-modifications
       (let ((buffer-undo-list t))
         (save-excursion ,@body)))
     ;; Positions in the undo list are those of before.
     (unless (eq buffer-undo-list t) (setq buffer-undo-list nil))
     (pcase-dolist (`(,window . ,offset) at-end)
       (set-window-point window (+ journeyman-log--input offset)))
     (when ahead (goto-char (+ journeyman-log--input ahead)))))

(defun journeyman-log--insert (text &rest properties)
  "Insert TEXT with PROPERTIES at point, as part of the log."
  (let ((start (point)))
    (insert text)
    (add-text-properties start (point) journeyman-log--marks)
    (when properties (add-text-properties start (point) properties))))

(defun journeyman-log--fresh-line ()
  "Make point begin a line."
  (unless (bolp) (journeyman-log--insert "\n")))

(defun journeyman-log-say (speaker text)
  "Add TEXT of SPEAKER to the log: `you', `agent', `thought' or `note'."
  (journeyman-log--writing
    (goto-char journeyman-log--end)
    (unless (eq speaker journeyman-log--speaker)
      (journeyman-log--fresh-line)
      (unless (bobp) (journeyman-log--insert "\n"))
      (pcase speaker
        ('you (journeyman-log--insert "You\n" 'face 'journeyman-role))
        ((or 'agent 'thought)
         (unless (memq journeyman-log--speaker '(agent thought call))
           (journeyman-log--insert "Agent\n" 'face 'journeyman-role))))
      (setq journeyman-log--speaker speaker))
    (apply #'journeyman-log--insert text
           (pcase speaker
             ('thought '(face journeyman-thought))
             ('note '(face journeyman-state))
             ('failure '(face journeyman-failed))))))

(defun journeyman-log-note (text &optional failure)
  "Add the note TEXT as a paragraph; non-nil FAILURE marks an error."
  (setq journeyman-log--speaker nil)
  (journeyman-log-say (if failure 'failure 'note) (concat text "\n"))
  (setq journeyman-log--speaker nil))

(defun journeyman-log-end-line ()
  "End the last line of the log, so that a blank one comes before the prompt."
  (journeyman-log--writing
    (goto-char journeyman-log--end)
    (journeyman-log--fresh-line)))

(defun journeyman-log-input ()
  "The prompt that is being written."
  (buffer-substring-no-properties journeyman-log--input (point-max)))

(defun journeyman-log-take-input ()
  "Remove the prompt from the buffer, and return it."
  (prog1 (string-trim (journeyman-log-input))
    (delete-region journeyman-log--input (point-max))))

;;;; Calls

(defun journeyman-log-call (id)
  "The call ID, or nil."
  (gethash id journeyman-log--calls))

(defun journeyman-log-calls ()
  "All calls, in their order."
  (sort (hash-table-values journeyman-log--calls)
        (lambda (one other) (< (journeyman-call-start one) (journeyman-call-start other)))))

(defun journeyman-log--given (value)
  "VALUE, or nil if it is null."
  (unless (memq value '(:null nil)) value))

(defun journeyman-log--fenced (text)
  "What is inside the fence that TEXT is, or TEXT."
  (if (string-match "\\`\\(```+\\)\n\\(\\(?:.\\|\n\\)*\\)\n\\1\\'" text) (match-string 2 text) text))

(defun journeyman-log--take-content (call content)
  "Take the texts and diffs of CONTENT into CALL."
  (let (texts hunks)
    (seq-do-indexed
     (lambda (part _index)
       (let-alist part
         (pcase .type
           ("diff" (push (list .path (journeyman-log--given .oldText) .newText) hunks))
           ("content" (when (stringp .content.text)
                        (push (journeyman-log--fenced .content.text) texts))))))
     content)
    (setf (journeyman-call-text call) (and texts (string-join (nreverse texts) "\n")))
    (when hunks (setf (journeyman-call-hunks call) (nreverse hunks)))))

(defun journeyman-log--take (call update)
  "Take the fields of UPDATE into CALL."
  (let-alist update
    (when-let ((name (journeyman-log--given .name))) (setf (journeyman-call-name call) name))
    (when-let ((title (journeyman-log--given .title))) (setf (journeyman-call-title call) title))
    (when-let ((kind (journeyman-log--given .kind))) (setf (journeyman-call-kind call) kind))
    (when-let ((status (journeyman-log--given .status))) (setf (journeyman-call-status call) status))
    (when-let ((places (journeyman-log--given .locations)))
      (setf (journeyman-call-locations call) (append places nil)))
    (when (assq 'rawInput update) (setf (journeyman-call-input call) .rawInput))
    (when-let ((output (journeyman-log--given .rawOutput))) (setf (journeyman-call-output call) output))
    (when-let ((content (journeyman-log--given .content))) (journeyman-log--take-content call content))))

(defun journeyman-log-update-call (update)
  "Show UPDATE of a call, which is new or known; return the call."
  (let* ((id (alist-get 'toolCallId update))
         (call (or (journeyman-log-call id) (journeyman-log--add-call id))))
    (journeyman-log--take call update)
    (unless (journeyman-call-name call)
      (setf (journeyman-call-name call)
            (car (split-string (or (journeyman-call-title call) "call") nil t))))
    (journeyman-log--draw call)
    call))

(defun journeyman-log--add-call (id)
  "Add an empty line for the call ID."
  (let ((call (journeyman-call--make :id id :status "pending" :input nil)))
    (journeyman-log--writing
      (goto-char journeyman-log--end)
      (journeyman-log--fresh-line)
      (unless (eq journeyman-log--speaker 'call) (unless (bobp) (journeyman-log--insert "\n")))
      (setf (journeyman-call-start call) (point-marker))
      (journeyman-log--insert "\n")
      (setf (journeyman-call-body call) (point-marker)
            (journeyman-call-end call) (point-marker)
            (journeyman-call-fold call) (make-overlay (point) (point)))
      (overlay-put (journeyman-call-fold call) 'invisible 'journeyman)
      (overlay-put (journeyman-call-fold call) 'isearch-open-invisible #'journeyman-log--open))
    (setq journeyman-log--speaker 'call)
    (puthash id call journeyman-log--calls)))

(defun journeyman-log--later (call)
  "Calls that begin where CALL ends, whose places must follow what is added there."
  (cl-remove-if-not (lambda (other)
                      (and (not (eq other call))
                           (= (journeyman-call-start other) (journeyman-call-end call))))
                    (hash-table-values journeyman-log--calls)))

(defun journeyman-log--draw (call)
  "Write the line of CALL and its folded details."
  (journeyman-log--writing
    (let ((start (marker-position (journeyman-call-start call)))
          (fold (journeyman-call-fold call))
          (later (journeyman-log--later call)))
      (dolist (other later) (set-marker-insertion-type (journeyman-call-start other) t))
      (goto-char start)
      (delete-region start (journeyman-call-end call))
      (journeyman-log--insert-header call)
      (set-marker (journeyman-call-body call) (point))
      (journeyman-log--insert-body call)
      (move-overlay fold (1- (journeyman-call-body call)) (1- (point)))
      (set-marker (journeyman-call-end call) (point))
      (set-marker (journeyman-call-start call) start)
      (dolist (other later) (set-marker-insertion-type (journeyman-call-start other) nil)))))

(defun journeyman-log--state-word (call)
  "The state of CALL, in a word."
  (pcase (journeyman-call-status call)
    ("in_progress" "running") ("completed" "done") (other other)))

(defun journeyman-log--insert-header (call)
  "Insert the line of CALL."
  (let ((failed (member (journeyman-call-status call) '("failed" "lost"))))
    (journeyman-log--button (if (overlay-get (journeyman-call-fold call) 'invisible) "▸" "▾") call
                            #'journeyman-log-toggle "Show or hide arguments and result")
    (journeyman-log--insert " ")
    (journeyman-log--button (string-replace "\n" " " (or (journeyman-call-title call) "")) call
                            #'journeyman-log-visit
                            (if (journeyman-call-locations call) "Open the file"
                              "Show or hide arguments and result"))
    (journeyman-log--insert (format " [%s]" (journeyman-log--state-word call))
                            'face (if failed 'journeyman-failed 'journeyman-state))
    (when (buffer-live-p (journeyman-call-stream call))
      (journeyman-log--insert " ")
      (journeyman-log--button "output" call #'journeyman-log-show-stream "Show its output"))
    (journeyman-log--insert "\n")
    (put-text-property (journeyman-call-start call) (point) 'journeyman-call (journeyman-call-id call))))

(defun journeyman-log--button (label call action help)
  "Insert a button LABEL that does ACTION with CALL; HELP says what."
  (let ((start (point)))
    (journeyman-log--insert label)
    (make-text-button start (point) 'face 'journeyman-call 'follow-link t 'help-echo help
                      'action (lambda (_button) (funcall action call)))))

(defun journeyman-log--pretty (value depth)
  "VALUE as JSON over several lines, DEPTH levels deep."
  (let* ((pad (make-string (* 2 (1+ depth)) ?\s))
         (lines (lambda (open items close)
                  (concat open "\n" pad (string-join items (concat ",\n" pad)) "\n"
                          (make-string (* 2 depth) ?\s) close))))
    (cond ((and (vectorp value) (> (length value) 0))
           (funcall lines "[" (mapcar (lambda (item) (journeyman-log--pretty item (1+ depth))) value) "]"))
          ((consp value)
           (funcall lines "{" (mapcar (lambda (pair)
                                        (concat (journeyman-acp-write (symbol-name (car pair))) ": "
                                                (journeyman-log--pretty (cdr pair) (1+ depth))))
                                      value)
                    "}"))
          (t (journeyman-acp-write value)))))

(defun journeyman-log--block (kind value)
  "VALUE as a fenced block of KIND."
  (concat "```" kind "\n" (journeyman-log--pretty value 0) "\n```\n"))

(defun journeyman-log-result (call)
  "The result of CALL as a `tool-result' object, or nil."
  (when (member (journeyman-call-status call) '("completed" "failed"))
    (let* ((text (or (journeyman-log--given (journeyman-call-output call)) (journeyman-call-text call) ""))
           (said (and (stringp text) (ignore-errors (journeyman-acp-read text)))))
      (if (and (consp said) (assq 'ok said))
          ;; A set whose results are such objects: as they are, with the id of the call above.
          (cons (cons 'id (journeyman-call-id call)) (assq-delete-all 'id said))
        (let ((done (equal (journeyman-call-status call) "completed")))
          `((id . ,(journeyman-call-id call)) (name . ,(journeyman-call-name call))
            (ok . ,(if done t :false))
            ,(if done `(result . ,text)
               `(error . ((type . "process-error") (message . ,text))))))))))

(defun journeyman-log-diff (call)
  "The changes of CALL as a unified diff, or nil."
  (when (journeyman-call-hunks call)
    (journeyman-diff-text
     (cl-loop for (path old new) in (journeyman-call-hunks call)
              for index from 0
              for place = (nth index (journeyman-call-locations call))
              collect (list path old new
                            (and (equal path (alist-get 'path place))
                                 (journeyman-log--given (alist-get 'line place)))))
     (or journeyman-log-root ""))))

(defun journeyman-log--insert-body (call)
  "Insert the folded details of CALL."
  (journeyman-log--insert
   (journeyman-log--block "tool-call" `((id . ,(journeyman-call-id call))
                                        (name . ,(journeyman-call-name call))
                                        (args . ,(journeyman-call-input call)))))
  (when-let ((diff (journeyman-log-diff call)))
    (dolist (line (split-string diff "\n" t))
      (journeyman-log--insert (concat line "\n") 'face
                              (pcase (aref line 0)
                                (?+ 'diff-added) (?- 'diff-removed) (?@ 'diff-hunk-header)))))
  (when-let ((result (journeyman-log-result call)))
    (journeyman-log--insert (journeyman-log--block "tool-result" result))))

;;;; What one does with a call

(defun journeyman-log-call-at-point ()
  "The call at point, or nil."
  (cl-find-if (lambda (call)
                (and (<= (journeyman-call-start call) (point)) (< (point) (journeyman-call-end call))))
              (hash-table-values journeyman-log--calls)))

(defun journeyman-log--open (overlay)
  "Unfold the call whose fold is OVERLAY, for a search."
  (let ((call (cl-find overlay (hash-table-values journeyman-log--calls) :key #'journeyman-call-fold)))
    (when call (journeyman-log-toggle call))))

(defun journeyman-log-toggle (call)
  "Show or hide arguments and result of CALL."
  (interactive (list (or (journeyman-log-call-at-point) (user-error "No call here"))))
  (let ((fold (journeyman-call-fold call)))
    (overlay-put fold 'invisible (if (overlay-get fold 'invisible) nil 'journeyman))
    (journeyman-log--draw call)
    (when (< (point) journeyman-log--input) (goto-char (journeyman-call-start call)))))

(defun journeyman-log-visit (call)
  "Open the file of CALL at its line; fold or unfold one without a file."
  (interactive (list (or (journeyman-log-call-at-point) (user-error "No call here"))))
  (let ((place (car (journeyman-call-locations call))))
    (if (not place)
        (journeyman-log-toggle call)
      (let-alist place
        (unless (file-exists-p .path) (user-error "There is no %s" .path))
        (find-file-other-window .path)
        (when (journeyman-log--given .line)
          (goto-char (point-min))
          (forward-line (1- .line)))))))

(defun journeyman-log-show-stream (call)
  "Show the output of CALL."
  (interactive (list (or (journeyman-log-call-at-point) (user-error "No call here"))))
  (if (buffer-live-p (journeyman-call-stream call))
      (display-buffer (journeyman-call-stream call))
    (user-error "No output yet")))

(defun journeyman-log-next-call (&optional back)
  "Move to the next call; with BACK, to the previous one."
  (interactive)
  (let* ((starts (mapcar (lambda (call) (marker-position (journeyman-call-start call)))
                         (journeyman-log-calls)))
         (next (if back (cl-find-if (lambda (start) (< start (line-beginning-position))) (reverse starts))
                 (cl-find-if (lambda (start) (> start (point))) starts))))
    (if next (goto-char next) (user-error "No call %s here" (if back "above" "below")))))

(defun journeyman-log-previous-call ()
  "Move to the previous call."
  (interactive)
  (journeyman-log-next-call t))

(provide 'journeyman-log)
;;; journeyman-log.el ends here
