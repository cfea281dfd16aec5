;;; journeyman-approval.el --- Calls that wait for an answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; One buffer for all calls of a conversation that need approval: what each will do, why it is asked, its
;; diff or its arguments.  y approves, n rejects, r rejects with a reason that the model is told, m marks,
;; s approves what is marked and rejects the rest.
;;
;; Law: the buffer never takes the keyboard by itself, so that nothing is approved by what was being typed
;; elsewhere.  A question is answered once.  A file with unsaved changes is not approved to be written.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'journeyman-acp)
(require 'journeyman-base)
(require 'journeyman-log)

(cl-defstruct (journeyman-question (:constructor journeyman-question--make))
  "A call that needs approval."
  respond call options marked)

(defvar-local journeyman-approval-questions nil
  "The open questions of this conversation, oldest first.")
(defvar-local journeyman-approval--conversation nil
  "The conversation that this buffer is about.")

(defvar journeyman-approval-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "y") #'journeyman-approval-yes)
    (define-key map (kbd "n") #'journeyman-approval-no)
    (define-key map (kbd "r") #'journeyman-approval-reject)
    (define-key map (kbd "m") #'journeyman-approval-mark)
    (define-key map (kbd "s") #'journeyman-approval-selected)
    (define-key map (kbd "RET") #'journeyman-approval-visit)
    (define-key map (kbd "TAB") #'journeyman-approval-next)
    (dolist (digit '("1" "2" "3" "4" "5" "6" "7" "8" "9"))
      (define-key map (kbd digit) #'journeyman-approval-choose))
    map))

(define-derived-mode journeyman-approval-mode special-mode "Approval"
  "Calls that need approval.

\\{journeyman-approval-mode-map}"
  (visual-line-mode 1))

(defun journeyman-approval--buffer ()
  "The buffer for the questions of the current conversation."
  (let ((conversation (current-buffer)))
    (with-current-buffer (get-buffer-create
                          (concat "*approval: " (string-trim (buffer-name) "\\*journeyman: " "\\*") "*"))
      (unless (derived-mode-p 'journeyman-approval-mode) (journeyman-approval-mode))
      (setq journeyman-approval--conversation conversation)
      (current-buffer))))

(defun journeyman-approval-ask (call options respond)
  "Ask about CALL with OPTIONS in the current conversation.
RESPOND gets the id of the option and a reason or nil; nil cancels."
  (setq journeyman-approval-questions
        (append journeyman-approval-questions
                (list (journeyman-question--make :call call :options (append options nil)
                                                 :respond respond))))
  (journeyman-approval--draw)
  (unless noninteractive
    (display-buffer (journeyman-approval--buffer) '(nil (inhibit-same-window . t)))
    (message "jm: %s (C-c C-a to answer)" (journeyman-call-title call))))

(defun journeyman-approval-drop ()
  "Cancel all questions of the current conversation."
  (let ((questions journeyman-approval-questions))
    (setq journeyman-approval-questions nil)
    (dolist (question questions) (funcall (journeyman-question-respond question) nil nil)))
  (journeyman-approval--draw))

(defun journeyman-approval-show ()
  "Go to the calls of this conversation that need approval."
  (interactive)
  (if journeyman-approval-questions
      (pop-to-buffer (journeyman-approval--buffer) '(nil (inhibit-same-window . t)))
    (user-error "Nothing needs approval")))

;;;; The text

(defun journeyman-approval--draw ()
  "Show the questions of the current conversation, or kill their buffer."
  (let ((questions journeyman-approval-questions)
        (root journeyman-log-root)
        (buffer (journeyman-approval--buffer)))
    (if (not questions)
        (progn (delete-windows-on buffer) (kill-buffer buffer))
      (with-current-buffer buffer
        (let ((inhibit-read-only t) (line (line-number-at-pos)))
          (setq journeyman-log-root root)
          (erase-buffer)
          (insert (propertize
                   (if (cdr questions)
                       (format "%d calls need approval: y yes, n no, r no with a reason, m mark, \
s yes to the marked ones and no to the others" (length questions))
                     "y yes, n no, r no with a reason")
                   'face 'journeyman-state)
                  "\n")
          (dolist (question questions) (journeyman-approval--insert question))
          (goto-char (point-min))
          (forward-line (max 1 (1- line))))))))

(defun journeyman-approval--insert (question)
  "Insert QUESTION."
  (let* ((call (journeyman-question-call question))
         (diff (journeyman-log-diff call))
         (unsaved (journeyman-approval--unsaved call))
         (start (point)))
    (insert "\n" (if (journeyman-question-marked question) "* " "  ")
            (propertize (or (journeyman-call-title call) "") 'face 'bold) "\n")
    (when (journeyman-call-text call) (insert (journeyman-call-text call) "\n"))
    (when unsaved
      (insert (propertize (concat unsaved " has unsaved changes: save or revert it first")
                          'face 'journeyman-failed)
              "\n"))
    (when (journeyman-approval--own-options question)
      (cl-loop for option in (journeyman-question-options question)
               for number from 1
               do (insert (format "  %d  %s\n" number (alist-get 'name option)))))
    (if diff
        (dolist (line (split-string diff "\n" t))
          (insert (propertize (concat line "\n") 'face
                              (pcase (aref line 0)
                                (?+ 'diff-added) (?- 'diff-removed) (?@ 'diff-hunk-header)))))
      (dolist (pair (and (consp (journeyman-call-input call)) (journeyman-call-input call)))
        (insert (format "  %s: " (car pair))
                (if (stringp (cdr pair)) (cdr pair) (journeyman-acp-write (cdr pair))) "\n")))
    (put-text-property start (point) 'journeyman-question question)))

(defun journeyman-approval--own-options (question)
  "Non-nil where QUESTION offers more than yes and no."
  (> (length (journeyman-question-options question)) 2))

(defun journeyman-approval--unsaved (call)
  "The name of a file of CALL that has unsaved changes in this Emacs, or nil."
  (cl-loop for (path) in (journeyman-call-hunks call)
           for buffer = (find-buffer-visiting path)
           when (and buffer (buffer-modified-p buffer)) return (buffer-name buffer)))

;;;; Answers

(defun journeyman-approval--here ()
  "The question at point."
  (or (get-text-property (point) 'journeyman-question)
      (car (buffer-local-value 'journeyman-approval-questions journeyman-approval--conversation))
      (user-error "No call here")))

(defun journeyman-approval--answer (question option &optional reason)
  "Answer QUESTION with OPTION and REASON."
  (with-current-buffer journeyman-approval--conversation
    (when (memq question journeyman-approval-questions)
      (setq journeyman-approval-questions (delq question journeyman-approval-questions))
      (funcall (journeyman-question-respond question) (alist-get 'optionId option) reason))
    (journeyman-approval--draw)))

(defun journeyman-approval--option (question kind)
  "The option of QUESTION of this KIND."
  (or (cl-find kind (journeyman-question-options question) :test #'equal
               :key (lambda (option) (alist-get 'kind option)))
      (user-error "That is not offered here")))

(defun journeyman-approval--approve (question)
  "Approve QUESTION."
  (let ((unsaved (journeyman-approval--unsaved (journeyman-question-call question))))
    (when unsaved (user-error "%s has unsaved changes: save or revert it first" unsaved)))
  (journeyman-approval--answer question (journeyman-approval--option question "allow_once")))

(defun journeyman-approval-yes ()
  "Approve the call at point, once."
  (interactive)
  (journeyman-approval--approve (journeyman-approval--here)))

(defun journeyman-approval-no ()
  "Reject the call at point."
  (interactive)
  (let ((question (journeyman-approval--here)))
    (journeyman-approval--answer question (journeyman-approval--option question "reject_once"))))

(defun journeyman-approval-reject (reason)
  "Reject the call at point; the model is told the REASON."
  (interactive "sReason: ")
  (let ((question (journeyman-approval--here)))
    (journeyman-approval--answer question (journeyman-approval--option question "reject_once")
                                 (unless (string-blank-p reason) reason))))

(defun journeyman-approval-choose ()
  "Answer the call at point with the option whose number was typed."
  (interactive)
  (let* ((question (journeyman-approval--here))
         (number (- last-command-event ?1))
         (option (nth number (journeyman-question-options question))))
    (unless option (user-error "There is no option %d" (1+ number)))
    (if (equal (alist-get 'kind option) "allow_once")
        (journeyman-approval--approve question)
      (journeyman-approval--answer question option))))

(defun journeyman-approval-mark ()
  "Mark the call at point, or take its mark away, and go to the next."
  (interactive)
  (let ((question (journeyman-approval--here)))
    (setf (journeyman-question-marked question) (not (journeyman-question-marked question)))
    (with-current-buffer journeyman-approval--conversation (journeyman-approval--draw))
    (ignore-errors (journeyman-approval-next))))

(defun journeyman-approval-selected ()
  "Approve the marked calls and reject the others."
  (interactive)
  (let ((questions (buffer-local-value 'journeyman-approval-questions journeyman-approval--conversation)))
    (unless (cl-some #'journeyman-question-marked questions) (user-error "Nothing is marked (m marks)"))
    (dolist (question questions)
      (when (buffer-live-p (current-buffer))
        (if (journeyman-question-marked question)
            (journeyman-approval--approve question)
          (journeyman-approval--answer question (journeyman-approval--option question "reject_once")))))))

(defun journeyman-approval-next ()
  "Move to the next call that needs approval."
  (interactive)
  (let ((here (get-text-property (point) 'journeyman-question)) (place (point)))
    (while (and place (memq (get-text-property place 'journeyman-question) (list nil here)))
      (setq place (next-single-property-change place 'journeyman-question)))
    (goto-char (or place (next-single-property-change (point-min) 'journeyman-question) (point-min)))))

(defun journeyman-approval-visit ()
  "Open the file of the call at point."
  (interactive)
  (let ((call (journeyman-question-call (journeyman-approval--here))))
    (unless (journeyman-call-locations call) (user-error "It names no file"))
    (journeyman-log-visit call)))

(provide 'journeyman-approval)
;;; journeyman-approval.el ends here
